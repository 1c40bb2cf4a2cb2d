import { metricsWithIntervals } from "../figure/forest";
import { METRICS } from "../figure/metrics";
import { follow } from "./Contents";
import { listed } from "./charts/words";
import type { SectionProps } from "./section";

/** What a run that did not come to its end, or whose figures are void, has no picture of. */
export function Absent({ document: { state }, load, under, prefix }: SectionProps) {
  if (state === "ended" && load.validity.verdict !== "void") return null;
  const absent = absentFrom({ load, under });
  if (absent.length === 0) return null;
  return (
    <p class="note">
      Not on this page, for nothing or too little is known: {listed(absent)}.{" "}
      <a href={`#${prefix}validity`} onClick={(event) => follow(event, `${prefix}validity`)}>Validity</a> says what went wrong.
    </p>
  );
}

/** What reports of such a load have and this one has not. */
export function absentFrom({ load, under }: Pick<SectionProps, "load" | "under">): string[] {
  const isService = under.design.load !== "batch";
  const all: [string, boolean][] = [
    ["overhead by arm", metricsWithIntervals(under, Object.keys(METRICS)).length > 0],
    ["latency by percentile", !isService || load.latency.length > 0],
    ["the bill", !isService || under.arms.some((arm) => arm.bill)],
    ["the run over time", load.series !== null],
  ];
  return all.flatMap(([name, isThere]) => (isThere ? [] : [name]));
}
