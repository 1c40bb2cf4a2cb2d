/** The requested page, from the path of its address. */
export type Route = { page: "runs" } | { page: "run"; name: string } | { page: "compare"; a: string; b: string } | { page: "history"; metric: string | null };

/** The route of a path; null for an unknown one. */
export function parsed(path: string): Route | null {
  const [, page, ...names] = path.split("/");
  if (path === "/") return { page: "runs" };
  const [a, b] = names.map(decoded);
  if (page === "runs" && a && names.length === 1) return { page: "run", name: a };
  if (page === "compare" && a && b && names.length === 2) return { page: "compare", a, b };
  if (page === "history" && names.length === 0) return { page: "history", metric: null };
  if (page === "history" && a && names.length === 1) return { page: "history", metric: a };
  return null;
}

/** The path of a route. */
export function address(route: Route): string {
  switch (route.page) {
    case "runs":
      return "/";
    case "run":
      return `/runs/${encodeURIComponent(route.name)}`;
    case "compare":
      return `/compare/${encodeURIComponent(route.a)}/${encodeURIComponent(route.b)}`;
    case "history":
      return route.metric === null ? "/history" : `/history/${encodeURIComponent(route.metric)}`;
  }
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
