// Words that several pictures share.

import type { UnderLoad } from "../../analysis";

/** What the load is counted in: an iteration of a batch program, a request to a service. */
export function counted(under: Pick<UnderLoad, "design">): "an iteration" | "a request" {
  return under.design.load === "batch" ? "an iteration" : "a request";
}

/** "a, b and c" */
export function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
}

/** Sentences one after the other; null is none. */
export function joined(...sentences: (string | null)[]): string {
  return sentences.filter((sentence) => sentence !== null).join(" ");
}
