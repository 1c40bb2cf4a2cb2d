import type { PlanLine } from "../comparison";

/** How a line of a difference begins, as in a patch. */
const SIGNS: Record<PlanLine["tag"], string> = { equal: "  ", delete: "− ", insert: "+ ", gap: "… " };

/** The plans as they were resolved, where they differ. */
export function PlanDiff({ lines }: { lines: PlanLine[] }) {
  if (lines.every((line) => line.tag === "equal" || line.tag === "gap")) {
    return <p>The plans, as they were resolved, are the same.</p>;
  }
  return (
    <figure class="diff">
      <figcaption>The plans, as they were resolved: − is A's, + is B's</figcaption>
      <pre tabIndex={0} aria-label="Lines of the plans that differ">
        {lines.map((line, i) => (
          <span key={i} class={line.tag}>
            {SIGNS[line.tag]}
            {line.text}
            {"\n"}
          </span>
        ))}
      </pre>
    </figure>
  );
}
