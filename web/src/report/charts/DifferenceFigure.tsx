import * as Plot from "@observablehq/plot";
import { useCallback, useMemo, useState } from "preact/hooks";

import type { UnderLoad } from "../../analysis";
import type { Latency } from "../../document";
import { Figure } from "../../figure/Figure";
import { PERCENT, fitting, writtenEnds } from "../../figure/format";
import { colour } from "../../figure/palette";
import { Choice } from "./Choice";
import { type ArmMark, type ArmMarks, markOf, mostTelling } from "./arms";
import { extent } from "./extent";
import {
  type DifferencePoint,
  differencesInWords,
  differencesOf,
  differencesTable,
  heightsOf,
  isCut,
  ticksWithEnd,
} from "./latency";
import { SIDES, along, fitted, heights, panel } from "./panel";

/** So many arms are drawn beside each other; of more the reader chooses one. */
const BESIDE = 6;

interface Own {
  mark: ArmMark;
  points: DifferencePoint[];
}

type As = "relative" | "us";

/** How each arm's percentiles differ from the baseline's: a panel for each, or for the chosen one. */
export function DifferenceFigure(props: { under: UnderLoad; latency: Latency; marks: ArmMarks; name: string }) {
  const { under, latency, marks, name } = props;
  const [as, setAs] = useState<As>("relative");
  const [chosen, choose] = useState<string | null>(null);
  const all = useMemo(() => ownOf(latency, marks, as), [latency, marks, as]);
  const shown = useMemo(() => {
    if (all.length <= BESIDE) return all;
    const ids = all.map((own) => own.mark.id);
    const treatments = ids.filter((id) => markOf(marks, id).role === "treatment");
    const one = chosen ?? mostTelling(under, treatments, 1)[0] ?? ids[0];
    return all.filter((own) => own.mark.id === one);
  }, [all, chosen, marks, under]);
  const draw = useCallback((width: number) => drawn(shown, as, width), [shown, as]);
  const hasUs = latency.differences.some((of) => of.points.some((point) => point.us));
  if (latency.differences.every((of) => of.points.length === 0)) return null;
  return (
    <Figure
      title={`Difference from the baseline by percentile, ${latency.timing === "response_time" ? "response time" : "service time"}`}
      name={name}
      description={differencesInWords(shown, as)}
      draw={draw}
      csv={() => differencesTable(latency)}
      height={240}
      controls={
        <>
          <Choice label="As" options={hasUs ? FORMS : FORMS.slice(0, 1)} chosen={as} choose={setAs} />
          {all.length > BESIDE && (
            <label>
              Arm{" "}
              <select value={shown[0]?.mark.id ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
                {all.map((own) => (
                  <option key={own.mark.id} value={own.mark.id}>{own.mark.label}</option>
                ))}
              </select>
            </label>
          )}
        </>
      }
    >
      <p class="note">
        Line and band: the difference and its 95 % interval, at each percentile on its own; percentiles of which too little
        was measured for an interval are left out.
        {shown.length < all.length && ` One of ${all.length} arms is shown.`}
        {shown.length > 1 && " Each arm has heights of its own."}
        {shown.some(({ points }) => isCut(points, heightsOf(points))) && " A triangle at the edge: the band goes on beyond the picture."}
      </p>
    </Figure>
  );
}

const FORMS: readonly { value: As; label: string }[] = [
  { value: "relative", label: "share" },
  { value: "us", label: "time" },
];

function ownOf(latency: Latency, marks: ArmMarks, as: As): Own[] {
  return latency.differences.flatMap((of) => {
    const points = differencesOf(of, as);
    return points.length > 0 ? [{ mark: markOf(marks, of.arm), points }] : [];
  });
}

function drawn(shown: readonly Own[], as: As, width: number): Element | null {
  if (shown.length === 0) return null;
  const points = shown.flatMap((own) => own.points);
  const columns = Math.min(shown.length, Math.max(1, Math.floor(width / 300)));
  const gap = 16;
  const each = Math.floor((width - gap * (columns - 1)) / columns);
  const grid = document.createElement("div");
  grid.className = "small-multiples";
  grid.style.gridTemplateColumns = `repeat(${columns}, ${each}px)`;
  const furthest = extent([10, ...points.map((point) => point.x)])[1];
  grid.append(...shown.map((own) => small(own, { as, furthest, width: each })));
  return grid;
}

function small({ mark, points }: Own, of: { as: As; furthest: number; width: number }): Element {
  const domain = heightsOf(points);
  const [low, high] = domain;
  const scale = of.as === "relative" ? PERCENT : fitting("us", domain);
  const ticks = ticksWithEnd(of.furthest, of.width - SIDES);
  const { colour: own, symbol } = mark.style;
  const beyond = { x: "x", symbol: "triangle", r: 4, fill: own } as const;
  return panel({
    width: of.width,
    height: 190,
    x: { type: "log", domain: [1, of.furthest] },
    y: { domain },
    marks: [
      heights(fitted(`${mark.label}, ${scale.unit}`, of.width), scale, { differences: true, ticks: 4 }),
      along("percentile", { ticks: ticks.places, text: ticks.text }),
      Plot.ruleY([0], { stroke: colour.soft }),
      Plot.areaY(points, { x: "x", y1: "low", y2: "high", fill: own, fillOpacity: 0.22, clip: true }),
      Plot.lineY(points, { x: "x", y: "estimate", stroke: own, strokeWidth: 1.8, clip: true }),
      Plot.dot(points, { x: "x", y: "estimate", symbol, fill: own, r: 2.5, clip: true }),
      Plot.dot(points.filter((point) => point.high > high), { ...beyond, y: () => high, dy: 4 }),
      Plot.dot(points.filter((point) => point.low < low), { ...beyond, y: () => low, dy: -4, rotate: 180 }),
      told(points, of).map((point) =>
        Plot.text([point], {
          x: "x",
          y: "estimate",
          text: () => writtenEnds(scale, point)?.point ?? "",
          // The last point stands at the very edge.
          textAnchor: point.x < of.furthest * 0.8 ? "middle" : "end",
          dy: -11,
          fill: colour.ink,
          stroke: colour.paper,
          strokeWidth: 3,
        }),
      ),
    ],
  });
}

/** The points whose figures are written: the median and the 99th percentile, else the last, where both have room. */
function told(points: readonly DifferencePoint[], of: { furthest: number; width: number }): DifferencePoint[] {
  const at = (quantile: number) => points.find((point) => Math.abs(point.quantile - quantile) < 1e-6);
  const median = at(0.5);
  const last = at(0.99) ?? points.at(-1);
  const pixels = median && last ? (Math.log(last.x / median.x) / Math.log(of.furthest)) * (of.width - SIDES) : 0;
  return [median, pixels > ROOM ? last : undefined].filter((point) => point !== undefined);
}

/** What a figure of a point takes, in pixels. */
const ROOM = 90;
