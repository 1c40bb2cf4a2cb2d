import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import type { LoadView, PageDocument } from "../document";
import { Figure } from "../figure/Figure";
import { armEntries } from "../figure/Key";
import { PERCENT, type Scale, tickText } from "../figure/format";
import { colour } from "../figure/palette";
import { useShown } from "./charts/ArmPicker";
import { type ArmMark, having, inWords } from "./charts/arms";
import { type RateLine, type RatePoint, rateLines, rateTable } from "./charts/byRate";
import { BESIDE, decades } from "./charts/decades";
import { extent } from "./charts/extent";
import { along, heights, panel } from "./charts/panel";

/** Arms drawn until the reader asks for more. */
const ARMS_AT_FIRST = 8;

/** The delivered share of telemetry under the loads of a run, by rate. */
export function ByRateFigure({ document, load }: { document: PageDocument; load: LoadView }) {
  const { analysis: { fidelity_curve: points }, rates: { scale, arms: texts } } = document;
  const known = useMemo(() => rateLines(points), [points]);
  const { arms, picker, shownNote } = useShown(load, known, ARMS_AT_FIRST);
  const lines = useMemo(() => having(arms, known), [known, arms]);
  const draw = useCallback((width: number) => drawn(lines, scale, width), [lines, scale]);
  if (known.length === 0) return null;
  return (
    <Figure
      title="Delivered share of expected telemetry, by rate"
      name="by-rate"
      shownNote={shownNote}
      description={`Shares that arrived, by rising rate. ${inWords(arms, texts)}`}
      draw={draw}
      csv={() => rateTable(points)}
      entries={armEntries(arms)}
      height={280}
      controls={picker}
    >
      {lines.some(({ own }) => own.points.some((point) => point.isClosed)) && (
        <p class="note">Hollow: a closed loop, at its achieved rate.</p>
      )}
    </Figure>
  );
}

function drawn(lines: readonly { mark: ArmMark; own: RateLine }[], scale: Scale, width: number): Element | null {
  if (lines.length === 0) return null;
  const points = lines.flatMap(({ own }) => own.points);
  const [slowest, fastest] = extent(points.map((point) => point.rate));
  const shares = extent([1, ...points.flatMap((point) => [point.low, point.high])]);
  return panel({
    width,
    height: 280,
    x: { type: "log", domain: [slowest * (1 - BESIDE), fastest * (1 + BESIDE)] },
    y: { domain: [Math.min(shares[0], 0.99), shares[1]], nice: true },
    marks: [
      heights("delivered, %", PERCENT),
      along(`requests per second${scale.unit === "/s" ? "" : `, ${scale.unit}`}`, {
        ticks: decades(slowest, fastest),
        tickFormat: (rate: number) => tickText(scale, rate),
      }),
      lines.map(({ mark: { style }, own: { points: own } }) => [
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
