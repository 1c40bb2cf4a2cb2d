import * as Plot from "@observablehq/plot";
import { useCallback, useMemo, useState } from "preact/hooks";

import type { Latency, LoadView } from "../../document";
import { Figure } from "../../figure/Figure";
import { PERCENT, type Scale } from "../../figure/format";
import { colour } from "../../figure/palette";
import { Choice } from "./Choice";
import { type ArmMark, armMarks, having, inWords, mostTelling } from "./arms";
import { extent } from "./extent";
import {
  type DifferencePoint,
  differencesOf,
  differencesTable,
  drawable,
  heightsOf,
  isCut,
  ticksWithEnd,
} from "./latency";
import { SIDES, along, fitted, heights, panel } from "./panel";

/** Arms drawn side by side; if there are more, the reader chooses one. */
const BESIDE = 6;

interface Own {
  mark: ArmMark;
  scale: Scale;
  points: DifferencePoint[];
}

type As = "relative" | "us";

/** Differences of each arm's percentiles from the baseline's: a panel for each arm, or for the chosen one. */
export function DifferenceFigure({ load, latency, name }: { load: LoadView; latency: Latency; name: string }) {
  const [as, setAs] = useState<As>("relative");
  const [chosen, choose] = useState<string | null>(null);
  const all = useMemo(() => ownOf(load, latency, as), [load, latency, as]);
  const shown = useMemo(() => {
    if (all.length <= BESIDE) return all;
    const treatments = all.filter(({ mark }) => mark.role === "treatment").map(({ mark }) => mark.id);
    const one = chosen ?? mostTelling(load, treatments, 1)[0] ?? all[0]?.mark.id;
    return all.filter(({ mark }) => mark.id === one);
  }, [all, chosen, load]);
  const draw = useCallback((width: number) => drawn(shown, width), [shown]);
  const texts = latency.differences.map((of) => ({ arm: of.arm, text: as === "relative" ? of.relative_text : of.us_text }));
  const hasUs = latency.differences.some((of) => of.points.some((point) => point.us));
  if (latency.differences.every((of) => of.points.length === 0)) return null;
  return (
    <Figure
      title={latency.difference_title}
      name={name}
      description={`Differences from the baseline by percentile, with 95 % bands. ${inWords(shown.map(({ mark }) => mark), texts)}`}
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
        Line and band: the difference and its 95 % interval, for each percentile separately; percentiles with too little data
        for an interval are left out.
        {shown.length < all.length && ` One of ${all.length} arms is shown.`}
        {shown.length > 1 && " Each arm has its own scale."}
        {shown.some(({ points }) => isCut(points, heightsOf(points))) && " A triangle at the edge: the band extends beyond the picture."}
      </p>
    </Figure>
  );
}

const FORMS: readonly { value: As; label: string }[] = [
  { value: "relative", label: "share" },
  { value: "us", label: "time" },
];

function ownOf(load: LoadView, latency: Latency, as: As): Own[] {
  return having([...armMarks(load).values()], latency.differences).flatMap(({ mark, own }) => {
    const points = differencesOf(own, as);
    return points.length > 0 ? [{ mark, points, scale: as === "relative" ? PERCENT : own.scale }] : [];
  });
}

function drawn(shown: readonly Own[], width: number): Element | null {
  if (shown.length === 0) return null;
  const points = shown.flatMap((own) => own.points);
  const columns = Math.min(shown.length, Math.max(1, Math.floor(width / 300)));
  const gap = 16;
  const each = Math.floor((width - gap * (columns - 1)) / columns);
  const grid = document.createElement("div");
  grid.className = "small-multiples";
  grid.style.gridTemplateColumns = `repeat(${columns}, ${each}px)`;
  const furthest = extent([10, ...points.map((point) => point.x)])[1];
  grid.append(...shown.map((own) => small(own, { furthest, width: each })));
  return grid;
}

function small({ mark, points, scale }: Own, of: { furthest: number; width: number }): Element {
  const domain = heightsOf(points);
  const [low, high] = domain;
  const near = drawable(points, domain);
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
      Plot.areaY(near, { x: "x", y1: "low", y2: "high", fill: own, fillOpacity: 0.22, clip: true }),
      Plot.lineY(near, { x: "x", y: "estimate", stroke: own, strokeWidth: 1.8, clip: true }),
      Plot.dot(near, { x: "x", y: "estimate", symbol, fill: own, r: 2.5, clip: true }),
      Plot.dot(points.filter((point) => point.high > high), { ...beyond, y: () => high, dy: 4 }),
      Plot.dot(points.filter((point) => point.low < low), { ...beyond, y: () => low, dy: -4, rotate: 180 }),
      labelled(points, of).map((point) =>
        Plot.text([point], {
          x: "x",
          y: "estimate",
          text: () => point.label,
          // The last point is at the very edge.
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

/** The points that get a label, both if there is room. */
function labelled(points: readonly DifferencePoint[], of: { furthest: number; width: number }): DifferencePoint[] {
  const [first, last] = points.filter((point) => point.label !== undefined);
  const pixels = first && last ? (Math.log(last.x / first.x) / Math.log(of.furthest)) * (of.width - SIDES) : 0;
  return [first, pixels > ROOM ? last : undefined].filter((point) => point !== undefined);
}

/** The width of a point's label, in pixels. */
const ROOM = 90;
