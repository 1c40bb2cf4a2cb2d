import { useState } from "preact/hooks";

import { Choice } from "./charts/Choice";
import { DifferenceFigure } from "./charts/DifferenceFigure";
import { PercentileFigure } from "./charts/PercentileFigure";
import { Block, type SectionProps } from "./section";

/** Times by percentile, and below them the differences of arms from the baseline. */
export function LatencySection({ load, prefix }: SectionProps) {
  const [timing, setTiming] = useState(load.latency[0]?.timing);
  const latency = load.latency.find((of) => of.timing === timing) ?? load.latency[0];
  if (!latency || latency.arms.length === 0) return null;
  const timings = load.latency.map((of) => ({ value: of.timing, label: of.label }));
  return (
    <Block name="latency" title="Latency by percentile" prefix={prefix}>
      <Choice label="Times" options={timings} chosen={latency.timing} choose={setTiming} />
      <PercentileFigure load={load} latency={latency} name={`${prefix}latency`} />
      <DifferenceFigure load={load} latency={latency} name={`${prefix}latency-differences`} />
    </Block>
  );
}
