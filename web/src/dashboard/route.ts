import { useEffect, useState } from "preact/hooks";

/** The requested page, from the part of the address after `#`. */
export type Route = { page: "runs" } | { page: "run"; name: string } | { page: "compare"; a: string; b: string };

/** The route of an address; null for an anchor within a page, and for an unknown one. */
export function parsed(hash: string): Route | null {
  const [start, page, ...names] = hash.split("/");
  if (hash === "" || hash === "#/") return { page: "runs" };
  if (start !== "#") return null;
  const [a, b] = names.map(decoded);
  if (page === "runs" && a && names.length === 1) return { page: "run", name: a };
  if (page === "compare" && a && b && names.length === 2) return { page: "compare", a, b };
  return null;
}

/** The address of a route. */
export function address(route: Route): string {
  switch (route.page) {
    case "runs":
      return "#/";
    case "run":
      return `#/runs/${encodeURIComponent(route.name)}`;
    case "compare":
      return `#/compare/${encodeURIComponent(route.a)}/${encodeURIComponent(route.b)}`;
  }
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** The route of the page's address, updated when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState<Route>(() => parsed(location.hash) ?? { page: "runs" });
  useEffect(() => {
    const follow = () => {
      const next = parsed(location.hash);
      // After a jump to an anchor within the page, the address stays that of the page, so that it can be kept
      // or shared.
      if (next) setRoute(next);
      else history.replaceState(null, "", address(route));
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [route]);
  return route;
}
