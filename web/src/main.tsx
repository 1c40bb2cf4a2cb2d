// One front end, delivered twice: as a report that carries its document in itself, and as the local
// page of `windage serve`, which asks the server for everything.

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

async function main(): Promise<void> {
  const place = document.getElementById("windage");
  if (!place) return;
  const page = <Guard instead={unexpected}>{await shown()}</Guard>;
  render(<Ready onReady={() => (place.dataset["ready"] = "true")}>{page}</Ready>, place);
}

/** Tells once what it holds can be used. Effects of children come first: by then they hear what they are to hear. */
function Ready({ children, onReady }: { children: ComponentChildren; onReady: () => void }) {
  useEffect(onReady, []);
  return <>{children}</>;
}

async function shown(): Promise<ComponentChild> {
  try {
    const own = await embedded();
    return own ? reported(own) : <Dashboard />;
  } catch (problem) {
    return <Message title="This report can’t be shown" text={problem instanceof Error ? problem.message : String(problem)} />;
  }
}

function reported({ kind, document: own }: Embedded): ComponentChild {
  if (kind === "run" && isDocument<PageDocument>(own)) return <Report document={own} />;
  if (kind === "comparison" && isDocument<ComparisonDocument>(own)) return <ComparisonReport document={own} />;
  return <Message title="This report can’t be shown" text={`What this page holds is no document that it knows (${kind}).`} />;
}

function unexpected(problem: string): ComponentChild {
  const text = `Something in it is not as this page expects it (${problem}). The figures are in analysis.json, and as text: windage report RUN.`;
  return <Message title="This report can’t be shown" text={text} />;
}

void main();
