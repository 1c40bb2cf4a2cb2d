import * as Plot from "@observablehq/plot";
import { useCallback, useState } from "preact/hooks";

import type { Series } from "../../document";
import { Figure } from "../../figure/Figure";
import type { KeyEntry } from "../../figure/Key";
import { count, tickText } from "../../figure/format";
import { LETTER } from "../../figure/letters";
import { colour, ofSoundness } from "../../figure/palette";
import type { ArmMark, ArmMarks } from "./arms";
import { extent } from "./extent";
import { hatched } from "./hatched";
import { along, fitted, panel, ticksIn } from "./panel";
import { type LaneWindow, lanesOf, timeScale, windowsTable } from "./timeSeries";

/** The height of a lane, and the minimal width of a window, in pixels. */
const LANE = 16;
const NARROWEST = 4;

/** The first windows one by one, each in the lane of its arm. */
export function WindowStrip(props: {
  series: Series;
  order: readonly string[];
  marks: ArmMarks;
  arms: readonly ArmMark[];
  name: string;
}) {
  const { series, order, marks, arms, name } = props;
  const [most, setMost] = useState(fittingIn(USUAL, USUAL_LEFT));
  const draw = useCallback(
    (width: number) => {
      const left = roomForNames(arms, width);
      setMost(fittingIn(width, left));
      return drawn(series, order, marks, arms, width, left);
    },
    [series, order, marks, arms],
  );
  const shown = Math.min(most, series.windows.length);
  const summary = `${count(shown)} of ${count(series.windows_in_all)} windows are drawn. ${series.windows_text}`;
  if (series.windows.length === 0) return null;
  return (
    <Figure
      title={`Windows in the order of measurement: ${shown < series.windows_in_all ? "the first" : "all"} ${count(shown)}`}
      name={name}
      description={summary}
      draw={draw}
      csv={() => windowsTable(series, order)}
      entries={KEY}
      height={(arms.length + 1) * LANE + 60}
    >
      <p class="note">{summary}</p>
    </Figure>
  );
}

const KEY: KeyEntry[] = [
  { label: "valid, in the arm’s colour", colour: colour.ink, shape: "filled" },
  { label: "suspect, half as high", colour: ofSoundness("suspect"), shape: "hollow" },
  { label: "void, half as high below a cross", colour: ofSoundness("void"), shape: "hatched" },
];

/** The usual width of a picture and of its names; the exact content is known when it is drawn. */
const [USUAL, USUAL_LEFT] = [940, 120];

function roomForNames(arms: readonly ArmMark[], width: number): number {
  return Math.min(extent([10, ...arms.map((arm) => arm.label.length)])[1] * LETTER + 12, width * 0.34);
}

function fittingIn(width: number, left: number): number {
  return Math.max(20, Math.floor((width - left) / NARROWEST));
}

function drawn(
  series: Series,
  order: readonly string[],
  marks: ArmMarks,
  arms: readonly ArmMark[],
  width: number,
  left: number,
): Element | null {
  const { labels, windows } = lanesOf(series, order, marks, arms, fittingIn(width, left));
  if (windows.length === 0) return null;
  const [from] = extent(windows.map((window) => window.from));
  const [, to] = extent(windows.map((window) => window.to));
  const time = timeScale(to);
  const place = {
    x1: "from",
    x2: "to",
    y1: (window: LaneWindow) => window.lane + 0.12,
    y2: (window: LaneWindow) => window.lane + 0.88,
    title: (window: LaneWindow) => `${window.mark.label}: ${window.verdict}, from ${tickText(time, window.from)} ${time.unit}`,
  };
  // Windows that are not valid are lower: in boxes of few pixels neither frames nor hatches are visible.
  const low = { ...place, y1: (window: LaneWindow) => window.lane + 0.5 };
  const of = (verdict: LaneWindow["verdict"]) => windows.filter((window) => window.verdict === verdict);
  return panel({
    width,
    height: labels.length * LANE + 48,
    marginTop: 6,
    marginLeft: left,
    marginBottom: 42,
    x: { domain: [from, to > from ? to : from + 1].map((at) => at / time.divisor), transform: (at: number) => at / time.divisor },
    y: { domain: [0, labels.length], reverse: true, axis: null },
    marks: [
      Plot.ruleY(labels.map((_, lane) => lane + 0.5), { stroke: colour.line }),
      along(`${time.unit} since the run began`, { ticks: ticksIn(width - left) }),
      Plot.rect(of("valid"), { ...place, fill: (window: LaneWindow) => window.mark.style.colour }),
      Plot.rect(of("suspect"), { ...low, fill: colour.paper, stroke: ofSoundness("suspect"), strokeWidth: 1.5 }),
      hatched(of("void"), low, ofSoundness("void")),
      Plot.dot(of("void"), {
        x: (window: LaneWindow) => (window.from + window.to) / 2,
        y: (window: LaneWindow) => window.lane + 0.25,
        symbol: "times",
        r: 2.5,
        stroke: ofSoundness("void"),
        strokeWidth: 1.8,
      }),
      Plot.text(labels, {
        frameAnchor: "left",
        textAnchor: "start",
        dx: -left,
        y: (_: string, lane: number) => lane + 0.5,
        text: (label: string) => fitted(label, left - 8),
      }),
    ],
  });
}
