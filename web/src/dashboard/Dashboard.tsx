// The pages of `windage serve`: all runs of a directory, one run, two runs compared, or the history of results.

import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";

import type { Embedded } from "../embedded";
import { Guard } from "../report/Guard";
import { ComparePage } from "./ComparePage";
import { HistoryPage } from "./HistoryPage";
import { RunPage } from "./RunPage";
import { Runs } from "./Runs";
import { type First, first } from "./request";
import { parsed } from "./route";
import { Instead, Trail } from "./Trail";

/** Shows the page that the address names, with the document that the server sent with it. */
export function Dashboard({ own }: { own: Embedded | null }) {
  // The cookie has the token from here on; it should not be copied with the address.
  useEffect(() => {
    if (location.search !== "") history.replaceState(null, "", location.pathname);
  }, []);
  return <Guard instead={unexpected}>{pageOf(first(own))}</Guard>;
}

function pageOf(sent: First): ComponentChild {
  const route = parsed(location.pathname);
  switch (route?.page) {
    case "runs":
      return <Runs first={sent} />;
    case "run":
      return <RunPage name={route.name} first={sent} />;
    case "compare":
      return <ComparePage a={route.a} b={route.b} first={sent} />;
    case "history":
      return <HistoryPage metric={route.metric} first={sent} />;
    default:
      return instead("There is no such page.");
  }
}

function unexpected(problem: string): ComponentChild {
  return instead(`This page can’t be shown: it contains something unexpected (${problem}).`);
}

function instead(error: string): ComponentChild {
  return (
    <>
      <Trail />
      <Instead error={error} waiting="" />
    </>
  );
}
