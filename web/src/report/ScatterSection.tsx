import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import type { ScatterView, Source } from "../document";
import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { PERCENT, tickText } from "../figure/format";
import { LETTER } from "../figure/letters";
import { colour } from "../figure/palette";
import { useShown } from "./charts/ArmPicker";
import { type ArmMark, having } from "./charts/arms";
import { extent } from "./charts/extent";
import { along, ticksIn } from "./charts/panel";
import { pixelsEach, rowsOf } from "./charts/rows";
import { scatterInWords, scatterTable } from "./charts/scatter";
import { Block, type SectionProps } from "./section";

/** Arms drawn until the reader asks for more. */
const ARMS_AT_FIRST = 16;
/** The height of a row, and the position and height of its bars, in pixels. */
const ROW = 72;
const TOP = 19;
const BAR = 15;

const COLOURS: Record<Source, string> = {
  launches: colour.remainder,
  blocks: "var(--series-5)",
  windows: "var(--series-4)",
};

/** The sources of the primary metric's scatter, and how to get a narrower interval. */
export function ScatterSection({ load, prefix }: SectionProps) {
  const scatter = load.scatter ?? NONE;
  const { arms, picker, shownNote } = useShown(load, scatter.arms, ARMS_AT_FIRST);
  const scatters = useMemo(() => having(arms, scatter.arms), [arms, scatter]);
  const draw = useCallback((width: number) => drawn(scatters, width), [scatters]);
  if (scatter === NONE) return null;
  return (
    <Block name="scatter" title="Where the scatter comes from" prefix={prefix}>
      <Figure
        title={scatter.title}
        name={`${prefix}scatter`}
        shownNote={shownNote}
        description={scatterInWords(scatters)}
        draw={draw}
        csv={() => scatterTable(scatter)}
        entries={Object.entries(COLOURS).map(([label, of]): KeyEntry => ({ label, colour: of, shape: "square" }))}
        height={scatters.length * ROW + 48}
        controls={picker}
      >
        <p class="note">Intervals are also of log ratios: ± 5 % means ÷ 1.05 to × 1.05.</p>
        {scatter.advice.map((advice) => (
          <p key={advice} class="note">{advice}</p>
        ))}
      </Figure>
    </Block>
  );
}

const NONE: ScatterView = { title: "", advice: [], arms: [] };

function drawn(scatters: readonly { mark: ArmMark; own: ScatterView["arms"][number] }[], width: number): Element | null {
  if (scatters.length === 0) return null;
  const bars = scatters.flatMap(({ own }, row) => own.sources.map((of, i) => ({ ...of, top: row + (TOP + i * BAR) / ROW })));
  type Bar = (typeof bars)[number];
  const highest = extent(bars.map((bar) => bar.sd))[1];
  const domain: [number, number] = [0, highest > 0 ? highest * 1.02 : 0.01];
  const each = pixelsEach({ width, domain });
  // Within the bar if it is long enough, otherwise after it.
  const isWithin = (bar: Bar) => (bar.sd ?? 0) * each > bar.text.length * LETTER + 8;
  const middle = (bar: Bar) => bar.top + (BAR - 2) / 2 / ROW;
  return rowsOf({
    width,
    row: ROW,
    domain,
    labels: scatters.map(({ mark: { label }, own }) => ({ label, figures: own.widths, short: "" })),
    axis: along("%", { ticks: ticksIn(width), tickFormat: (sd: number) => tickText(PERCENT, sd) }),
    marks: [
      Plot.rect(bars, {
        x1: () => 0,
        x2: (bar: Bar) => bar.sd ?? 0,
        y1: "top",
        y2: (bar: Bar) => bar.top + (BAR - 2) / ROW,
        fill: (bar: Bar) => COLOURS[bar.source],
      }),
      Plot.text(bars.filter(isWithin), { x: () => 0, y: middle, dx: 5, textAnchor: "start", fill: "#000", text: "text" }),
      Plot.text(bars.filter((bar) => !isWithin(bar)), {
        x: (bar: Bar) => bar.sd ?? 0,
        y: middle,
        dx: 5,
        textAnchor: "start",
        fill: "currentColor",
        stroke: colour.paper,
        strokeWidth: 3,
        text: "text",
      }),
    ],
  });
}
