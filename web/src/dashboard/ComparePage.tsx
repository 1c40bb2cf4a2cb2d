import { ComparisonReport } from "../comparison/ComparisonReport";
import { oneLine } from "../figure/names";
import { comparison } from "./api";
import { type First, useAnswer } from "./request";
import { address } from "./route";
import { Instead, Trail } from "./Trail";

/** Two runs: the second compared with the first. */
export function ComparePage({ a, b, first }: { a: string; b: string; first: First }) {
  const { answer, error } = useAnswer((signal) => comparison(a, b, signal), first);
  return (
    <>
      <Trail>
        <a href={address({ page: "run", name: a })}>A: {oneLine(a)}</a>
        <a href={address({ page: "run", name: b })}>B: {oneLine(b)}</a>
        <a href={address({ page: "compare", a: b, b: a })}>Swap A and B</a>
      </Trail>
      {answer ? <ComparisonReport document={answer} /> : <Instead error={error} waiting="Comparing …" />}
    </>
  );
}
