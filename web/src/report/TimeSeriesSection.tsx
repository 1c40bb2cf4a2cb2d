import { useMemo } from "preact/hooks";

import type { UnderLoad } from "../analysis";
import type { Series } from "../document";
import { useShown } from "./charts/ArmPicker";
import { OverTime } from "./charts/OverTime";
import { ARMS_AT_FIRST } from "./charts/PercentileFigure";
import { WindowStrip } from "./charts/WindowStrip";
import { armMarks } from "./charts/arms";
import { Block, type SectionProps } from "./section";

/** What was measured over time, and the first windows one by one. */
export function TimeSeriesSection({ load, under, prefix }: SectionProps) {
  const { series } = load;
  const isEmpty = !series || (series.windows.length === 0 && series.arms.every((arm) => arm.at_s.length === 0));
  return isEmpty ? null : <Pictures series={series} under={under} prefix={prefix} />;
}

function Pictures({ series, under, prefix }: { series: Series; under: UnderLoad; prefix: string }) {
  const marks = useMemo(() => armMarks(under), [under]);
  const ids = useMemo(() => series.arms.map((arm) => arm.arm), [series]);
  const order = useMemo(() => under.arms.map((arm) => arm.id), [under]);
  const { arms, picker, told } = useShown(under, marks, ids, ARMS_AT_FIRST);
  return (
    <Block name="over-time" title="Over time" prefix={prefix}>
      <OverTime series={series} under={under} arms={arms} picker={picker} told={told} name={`${prefix}over-time`} />
      <WindowStrip series={series} order={order} marks={marks} arms={arms} name={`${prefix}windows`} />
    </Block>
  );
}
