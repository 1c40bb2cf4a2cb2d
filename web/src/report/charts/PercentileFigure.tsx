import * as Plot from "@observablehq/plot";
import { useCallback, useMemo, useState } from "preact/hooks";

import type { Latency, LoadView } from "../../document";
import { Figure } from "../../figure/Figure";
import { armEntries } from "../../figure/Key";
import { type Scale, timeText } from "../../figure/format";
import { useShown } from "./ArmPicker";
import { Choice } from "./Choice";
import { type ArmMark, having, inWords } from "./arms";
import { BESIDE, decades } from "./decades";
import { extent } from "./extent";
import { type Step, latencyTable, namedSteps, stepsOf, ticksTo, timeAt } from "./latency";
import { SIDES, along, heights, panel } from "./panel";

/** Arms drawn until the reader asks for more. */
export const ARMS_AT_FIRST = 8;
/** From this ratio of the longest time to the median on, the axis starts as logarithmic. */
const LONG_TAIL = 20;

interface Line {
  mark: ArmMark;
  steps: Step[];
}

/** One line of times per arm. */
export function PercentileFigure({ load, latency, name }: { load: LoadView; latency: Latency; name: string }) {
  const { arms, picker, shownNote } = useShown(load, latency.arms, ARMS_AT_FIRST);
  const lines = useMemo(() => linesOf(latency, arms), [latency, arms]);
  const [chosen, choose] = useState<"linear" | "log" | null>(null);
  const axis = chosen ?? (isLongTailed(lines) ? "log" : "linear");
  const draw = useCallback((width: number) => drawn(lines, latency.scale, axis, width), [lines, latency, axis]);
  return (
    <Figure
      title={latency.title}
      name={name}
      shownNote={shownNote}
      description={`Times by percentile. ${inWords(arms, latency.arms)}`}
      draw={draw}
      csv={() => latencyTable(latency)}
      entries={armEntries(arms)}
      height={320}
      controls={
        <>
          <Choice label="Time axis" options={AXES} chosen={axis} choose={choose} />
          {picker}
        </>
      }
    >
    </Figure>
  );
}

const AXES = [
  { value: "linear", label: "linear" },
  { value: "log", label: "logarithmic" },
] as const;

function linesOf(latency: Latency, arms: readonly ArmMark[]): Line[] {
  return having(arms, latency.arms).flatMap(({ mark, own }) => {
    const steps = stepsOf(own);
    return steps.length > 0 ? [{ mark, steps }] : [];
  });
}

function isLongTailed(lines: readonly Line[]): boolean {
  return lines.some(({ steps }) => (steps.at(-1)?.us ?? 0) > LONG_TAIL * (timeAt(steps, 0.5)?.us ?? Infinity));
}

function drawn(lines: readonly Line[], scale: Scale, axis: "linear" | "log", width: number): Element | null {
  if (lines.length === 0) return null;
  const furthest = extent([10, ...lines.flatMap(({ steps }) => steps.map((step) => step.x))])[1];
  const ticks = ticksTo(furthest, width - SIDES);
  const times = lines.flatMap((line) => line.steps.map((step) => step.us));
  const [shortest, longest] = extent(times);
  const isLog = axis === "log" && longest > shortest;
  return panel({
    width,
    height: 320,
    x: { type: "log", domain: [1, furthest] },
    y: isLog ? { type: "log", domain: [shortest * (1 - BESIDE), longest * (1 + BESIDE)] } : { zero: true, nice: true },
    marks: [
      isLog
        ? heights("time", scale, { ticks: decades(shortest, longest), text: timeText })
        : heights(`time, ${scale.unit}`, scale),
      along("percentile", { ticks: ticks.places, text: ticks.text }),
      lines.map(({ mark, steps }) => [
        Plot.lineY(steps, { x: "x", y: "us", stroke: mark.style.colour, strokeDasharray: mark.style.dash ?? "none", strokeWidth: 1.8 }),
        Plot.dot(namedSteps(steps), { x: "x", y: "us", symbol: mark.style.symbol, fill: mark.style.colour, r: 3.5 }),
      ]),
    ],
  });
}
