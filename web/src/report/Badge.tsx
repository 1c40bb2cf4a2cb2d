import type { Soundness } from "../analysis";

/** Valid, suspect or void: a shape and the word. */
export function Badge({ verdict }: { verdict: Soundness }) {
  return <span class={`badge ${verdict}`}>{verdict}</span>;
}
