import { useMemo, useState } from "preact/hooks";

import { Choice } from "./charts/Choice";
import { armMarks } from "./charts/arms";
import { DifferenceFigure } from "./charts/DifferenceFigure";
import { PercentileFigure } from "./charts/PercentileFigure";
import { Block, type SectionProps } from "./section";

/** Times by percentile, and beneath them how arms differ from the baseline. */
export function LatencySection({ load, under, prefix }: SectionProps) {
  const [timing, setTiming] = useState(load.latency[0]?.timing);
  const marks = useMemo(() => armMarks(under), [under]);
  const latency = load.latency.find((of) => of.timing === timing) ?? load.latency[0];
  if (!latency || latency.arms.length === 0) return null;
  const timings = load.latency.map((of) => ({ value: of.timing, label: TIMINGS[of.timing] }));
  return (
    <Block name="latency" title="Latency by percentile" prefix={prefix}>
      <Choice label="Times" options={timings} chosen={latency.timing} choose={setTiming} />
      <PercentileFigure under={under} latency={latency} marks={marks} name={`${prefix}latency`} />
      <DifferenceFigure under={under} latency={latency} marks={marks} name={`${prefix}latency-differences`} />
    </Block>
  );
}

const TIMINGS = {
  response_time: "response times, from the intended start",
  service_time: "service times, from the actual send",
} as const;
