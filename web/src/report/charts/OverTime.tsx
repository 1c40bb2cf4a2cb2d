import * as Plot from "@observablehq/plot";
import type { ComponentChildren } from "preact";
import { useCallback, useMemo } from "preact/hooks";

import type { Series } from "../../document";
import { Figure } from "../../figure/Figure";
import { armEntries, type KeyEntry } from "../../figure/Key";
import { ONE, PERCENT, type Scale } from "../../figure/format";
import { colour } from "../../figure/palette";
import { type ArmMark, inWords } from "./arms";
import { extent } from "./extent";
import { along, heights, panel, stacked, ticksIn } from "./panel";
import { type ArmLine, type Drawn, type Moment, drawnOf, heightsOf, isCut, momentsOf, seriesTable, timeScale } from "./timeSeries";

/** Up to this many moments, points are drawn in addition to lines. */
const POINTS_UP_TO = 80;

/** Stacked panels with one time axis: the use of arms, and below it the state of the machine. */
export function OverTime(props: {
  series: Series;
  arms: readonly ArmMark[];
  picker: ComponentChildren;
  /** A note that not all arms are shown. */
  shownNote: string | null;
  name: string;
}) {
  const { series, arms, picker, shownNote, name } = props;
  const shown = useMemo(() => drawnOf(series, arms), [series, arms]);
  const draw = useCallback((width: number) => drawn(series, shown, width), [series, shown]);
  const hasCut = useMemo(() => shown.some(({ lines }) => isCut(lines, heightsOf(lines))), [shown]);
  return (
    <Figure
      title="CPU, rate and memory over time"
      name={name}
      shownNote={shownNote}
      description={`${series.about} ${inWords(arms, series.arms)}`}
      draw={draw}
      csv={() => seriesTable(series)}
      entries={[...armEntries(withLines(shown, arms)), ...machineKey(series)]}
      height={shown.length * 146 + 206}
      controls={picker}
    >
      <p class="note">
        {series.notes.join(" ")}
        {hasCut && " Values beyond a panel are drawn at its edge."}
      </p>
    </Figure>
  );
}

/** The arms that have a line. */
function withLines(shown: readonly Drawn[], arms: readonly ArmMark[]): ArmMark[] {
  return arms.filter((arm) => shown.some(({ lines }) => lines.some((line) => line.mark === arm)));
}

function isPressureKnown({ machine }: Series): boolean {
  return machine.pressure.some((share) => share !== null);
}

function machineKey(series: Series): KeyEntry[] {
  return [
    { label: "steal", colour: colour.ink, shape: "line" },
    ...(isPressureKnown(series) ? [{ label: "pressure on CPUs", colour: colour.soft, shape: "dashed" as const }] : []),
  ];
}

function drawn(series: Series, shown: readonly Drawn[], width: number): Element | null {
  const time = timeScale(series.lasts_s);
  // The middle of the last stretch may be after the last window.
  const ends = extent([series.lasts_s, 1e-3, ...series.machine.at_s])[1];
  const panels = shown.map(({ name, scale, lines }) => {
    const domain = heightsOf(lines);
    const label = scale.unit === "" || scale.unit === "/s" ? name : `${name}, ${scale.unit}`;
    return { height: 120, domain, label, scale, marks: lines.map(lineOf) };
  });
  const all = [...panels, ...machinePanels(series)];
  if (all.length === 0) return null;
  return stacked(
    all.map((of, i) => {
      const isLast = i === all.length - 1;
      return panel({
        width,
        height: of.height + 26 + (isLast ? 40 : 8),
        marginBottom: isLast ? 40 : 8,
        x: { domain: [0, ends / time.divisor], transform: (at: number) => at / time.divisor },
        y: { domain: of.domain, clamp: true },
        marks: [
          rounds(series, of.domain),
          heights(of.label, of.scale, { ticks: 4 }),
          isLast ? timeAxis(time, width) : Plot.axisX({ ticks: [], label: null }),
          of.marks,
        ],
      });
    }),
  );
}

/** The time spans of rounds, shaded alternately, because some follow each other without a gap. */
function rounds(series: Series, [low, high]: [number, number]): Plot.Markish {
  return Plot.rect(series.rounds, { x1: "from_s", x2: "to_s", y1: () => low, y2: () => high, fill: colour.panel, fillOpacity: (_, i) => (i % 2 === 0 ? 1 : 0.4) });
}

function timeAxis(time: Scale, width: number): Plot.Markish {
  return along(`${time.unit} since the run began`, {
    ticks: ticksIn(width),
  });
}

function lineOf({ mark: { style }, moments }: ArmLine): Plot.Markish {
  const place = { x: "at", y: "value" };
  return [
    Plot.line(moments, { ...place, z: "stretch", stroke: style.colour, strokeDasharray: style.dash ?? "none", strokeWidth: 1.2, strokeOpacity: 0.8 }),
    ...(moments.length <= POINTS_UP_TO ? [Plot.dot(moments, { ...place, symbol: style.symbol, r: 2, fill: style.colour })] : []),
  ];
}

interface Panel {
  height: number;
  domain: [number, number];
  label: string;
  scale: Scale;
  marks: Plot.Markish[];
}

/** Steal and pressure in one panel, busy cores in another. */
function machinePanels(series: Series): Panel[] {
  const { at_s, steal, pressure, busy_cores } = series.machine;
  const [stolen, pressed, busy] = [steal, pressure, busy_cores].map((of) => momentsOf(series, at_s, of));
  const line = (moments: Moment[] | undefined, stroke: string, dash = "none") =>
    Plot.line(moments ?? [], { x: "at", y: "value", z: "stretch", stroke, strokeDasharray: dash, strokeWidth: 1.2 });
  const top = (...of: (Moment[] | undefined)[]) => extent(of.flatMap((moments) => (moments ?? []).map((moment) => moment.value)))[1];
  const panels: Panel[] = [];
  if (stolen && stolen.length > 0) {
    panels.push({
      height: 70,
      // Below one per cent the scale stays fixed.
      domain: [0, Math.max(top(stolen, pressed) * 1.05, 0.01)],
      label: pressed && pressed.length > 0 ? "steal and pressure, %" : "steal, %",
      scale: PERCENT,
      marks: [line(pressed, colour.soft, "6 3"), line(stolen, colour.ink)],
    });
  }
  if (busy && busy.length > 0) {
    panels.push({ height: 70, domain: [0, top(busy) * 1.05 || 1], label: "busy cores of the machine", scale: ONE, marks: [line(busy, colour.ink)] });
  }
  return panels;
}
