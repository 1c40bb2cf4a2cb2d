// One front end, delivered twice: as a report with its document embedded, and as the pages of `windage serve`,
// which have their first document embedded and request later ones from the server.

import { type ComponentChild, type ComponentChildren, render } from "preact";
import { useEffect } from "preact/hooks";

import type { ComparisonDocument } from "./comparison";
import { ComparisonReport } from "./comparison/ComparisonReport";
import { Dashboard } from "./dashboard/Dashboard";
import type { PageDocument } from "./document";
import { type Embedded, embedded, isDocument } from "./embedded";
import { Guard } from "./report/Guard";
import { Message } from "./report/Message";
import { Report } from "./report/Report";
import "./style/colours.css";
import "./style/page.css";
import "./style/figures.css";
import "./style/dashboard.css";
import "./style/print.css";

function main(): void {
  const place = document.getElementById("windage");
  if (!place) return;
  const page = <Guard instead={unexpected}>{shown(place.dataset["served"] !== undefined)}</Guard>;
  render(<Ready onReady={() => (place.dataset["ready"] = "true")}>{page}</Ready>, place);
}

/** Reports once when the page is usable. Effects of children run first, so their listeners exist by then. */
function Ready({ children, onReady }: { children: ComponentChildren; onReady: () => void }) {
  useEffect(onReady, []);
  return <>{children}</>;
}

function shown(isServed: boolean): ComponentChild {
  try {
    const own = embedded();
    if (isServed) return <Dashboard own={own} />;
    return own ? reported(own) : <Message title="This report can’t be shown" text="This page has no document. Make it again: windage report RUN --format html." />;
  } catch (problem) {
    return <Message title="This report can’t be shown" text={problem instanceof Error ? problem.message : String(problem)} />;
  }
}

function reported({ kind, document: own }: Embedded): ComponentChild {
  if (kind === "run" && isDocument<PageDocument>(own)) return <Report document={own} />;
  if (kind === "comparison" && isDocument<ComparisonDocument>(own)) return <ComparisonReport document={own} />;
  return <Message title="This report can’t be shown" text={`This page contains an unknown kind of document (${kind}).`} />;
}

function unexpected(problem: string): ComponentChild {
  const text = `It contains something unexpected (${problem}). The figures are in analysis.json; for a text report run: windage report RUN.`;
  return <Message title="This report can’t be shown" text={text} />;
}

main();
