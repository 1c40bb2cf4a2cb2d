// The page of `windage serve`: all runs of a directory, one run, or two runs compared.

import type { ComponentChild } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Guard } from "../report/Guard";
import { ComparePage } from "./ComparePage";
import { RunPage } from "./RunPage";
import { Runs } from "./Runs";
import { type Route, address, useRoute } from "./route";
import { Instead, Trail } from "./Trail";

/** Shows the page that the address names. */
export function Dashboard() {
  const route = useRoute();
  const place = useRef<HTMLDivElement>(null);
  const shown = address(route);
  const before = useRef(shown);
  // The activated link is no longer there: move the focus to the start of the new content.
  useEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    scrollTo(0, 0);
    place.current?.focus({ preventScroll: true });
  }, [shown]);
  return (
    <div ref={place} tabIndex={-1} class="dashboard">
      <Guard key={shown} instead={unexpected}>{pageOf(route)}</Guard>
    </div>
  );
}

function pageOf(route: Route): ComponentChild {
  switch (route.page) {
    case "runs":
      return <Runs />;
    case "run":
      return <RunPage name={route.name} />;
    case "compare":
      return <ComparePage a={route.a} b={route.b} />;
  }
}

function unexpected(problem: string): ComponentChild {
  return (
    <>
      <Trail />
      <Instead error={`This page can’t be shown: it contains something unexpected (${problem}).`} waiting="" />
    </>
  );
}
