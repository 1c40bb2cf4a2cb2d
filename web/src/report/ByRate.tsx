import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import type { PageDocument } from "../document";
import { Figure } from "../figure/Figure";
import { armEntries } from "../figure/Key";
import { PERCENT, tickText } from "../figure/format";
import { colour } from "../figure/palette";
import { ShownNote, useShown } from "./charts/ArmPicker";
import { armMarks } from "./charts/arms";
import { type RateLine, type RatePoint, rateLines, rateTable, ratesInWords, scaleOf } from "./charts/byRate";
import { BESIDE, decades } from "./charts/decades";
import { extent } from "./charts/extent";
import { along, heights, panel } from "./charts/panel";
import { joined } from "./charts/words";

/** So many arms are drawn before the reader asks for more. */
const ARMS_AT_FIRST = 8;

/** What arrived of the telemetry over the loads of a run, against the rate. */
export function ByRateFigure({ document }: { document: PageDocument }) {
  const { analysis } = document;
  const marks = useMemo(() => armMarks(analysis), [analysis]);
  const all = useMemo(() => rateLines(analysis.fidelity_curve, marks), [analysis, marks]);
  const ids = useMemo(() => all.map((line) => line.mark.id), [all]);
  const { arms, picker, told } = useShown(analysis, marks, ids, ARMS_AT_FIRST);
  const lines = useMemo(() => all.filter((line) => arms.some((arm) => arm.id === line.mark.id)), [all, arms]);
  const draw = useCallback((width: number) => drawn(lines, width), [lines]);
  if (all.length === 0) return null;
  return (
    <Figure
      title="Delivered of what was expected, against the rate"
      name="by-rate"
      description={joined(told, ratesInWords(lines))}
      draw={draw}
      csv={() => rateTable(analysis.fidelity_curve)}
      entries={armEntries(arms)}
      height={280}
      controls={picker}
    >
      <ShownNote told={told} />
      {lines.some((line) => line.points.some((point) => point.isClosed)) && (
        <p class="note">Hollow: a closed loop, at the rate that it achieved.</p>
      )}
    </Figure>
  );
}

function drawn(lines: readonly RateLine[], width: number): Element | null {
  if (lines.length === 0) return null;
  const points = lines.flatMap((line) => line.points);
  const [slowest, fastest] = extent(points.map((point) => point.rate));
  const scale = scaleOf(lines);
  const shares = extent([1, ...points.flatMap((point) => [point.low, point.high])]);
  return panel({
    width,
    height: 280,
    x: { type: "log", domain: [slowest * (1 - BESIDE), fastest * (1 + BESIDE)] },
    y: { domain: [Math.min(shares[0], 0.99), shares[1]], nice: true },
    marks: [
      heights("delivered, %", PERCENT),
      along(`requests a second${scale.unit === "/s" ? "" : `, ${scale.unit}`}`, {
        ticks: decades(slowest, fastest),
        tickFormat: (rate: number) => tickText(scale, rate),
      }),
      lines.map(({ mark: { style }, points: own }) => [
        Plot.ruleX(own, { x: "rate", y1: "low", y2: "high", stroke: style.colour, strokeWidth: 1.5 }),
        Plot.lineY(own.filter((point) => !point.isClosed), { x: "rate", y: "estimate", stroke: style.colour, strokeDasharray: style.dash ?? "none" }),
        Plot.dot(own, {
          x: "rate",
          y: "estimate",
          symbol: style.symbol,
          r: 4,
          stroke: style.colour,
          fill: (point: RatePoint) => (point.isClosed ? colour.paper : style.colour),
        }),
      ]),
    ],
  });
}
