import { oneLine } from "../figure/names";
import { address } from "./route";

/** The two runs picked for comparison, in the order in which they were picked. */
export interface Chosen {
  a: string | null;
  b: string | null;
}

/** None is picked. */
export const NOTHING: Chosen = { a: null, b: null };

/** Picks a run, or unpicks it; a third one replaces the second. */
export function choose({ a, b }: Chosen, name: string): Chosen {
  if (name === a) return { a: b, b: null };
  if (name === b) return { a, b: null };
  return a === null ? { a: name, b } : { a, b: name };
}

/** The picked runs, and the link to their comparison. */
export function Choice({ chosen: { a, b }, onClear }: { chosen: Chosen; onClear: () => void }) {
  if (a === null) return <span class="soft">Tick two runs to compare them.</span>;
  if (b === null) return <span role="status">A is {oneLine(a)}; tick another to compare with it.</span>;
  return (
    <span role="status">
      <a class="button" href={address({ page: "compare", a, b })}>Compare {oneLine(a)} and {oneLine(b)}</a>{" "}
      <button type="button" onClick={onClear}>Untick</button>
    </span>
  );
}
