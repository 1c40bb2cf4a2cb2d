import { useMemo } from "preact/hooks";

import type { LoadView, Series } from "../document";
import { useShown } from "./charts/ArmPicker";
import { OverTime } from "./charts/OverTime";
import { ARMS_AT_FIRST } from "./charts/PercentileFigure";
import { WindowStrip } from "./charts/WindowStrip";
import { Block, type SectionProps } from "./section";

/** The measurements over time, and the first windows one by one. */
export function TimeSeriesSection({ load, prefix }: SectionProps) {
  const { series } = load;
  const isEmpty = !series || (series.windows.length === 0 && series.arms.every((arm) => arm.at_s.length === 0));
  return isEmpty ? null : <Pictures series={series} load={load} prefix={prefix} />;
}

function Pictures({ series, load, prefix }: { series: Series; load: LoadView; prefix: string }) {
  const order = useMemo(() => load.arms.map((arm) => arm.id), [load]);
  const { marks, arms, picker, shownNote } = useShown(load, series.arms, ARMS_AT_FIRST);
  return (
    <Block name="over-time" title="Over time" prefix={prefix}>
      <OverTime series={series} arms={arms} picker={picker} shownNote={shownNote} name={`${prefix}over-time`} />
      <WindowStrip series={series} order={order} marks={marks} arms={arms} name={`${prefix}windows`} />
    </Block>
  );
}
