import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { PERCENT, percentTwo, tickText } from "../figure/format";
import { words } from "../figure/metrics";
import { LETTER } from "../figure/letters";
import { colour } from "../figure/palette";
import { ShownNote, useShown } from "./charts/ArmPicker";
import { armMarks, markOf } from "./charts/arms";
import { extent } from "./charts/extent";
import { along, ticksIn } from "./charts/panel";
import { pixelsEach, rowsOf } from "./charts/rows";
import {
  type ArmScatter,
  SOURCES,
  type Source,
  advices,
  scatterInWords,
  scatterTable,
  scattersOf,
  widthsInWords,
} from "./charts/scatter";
import { joined } from "./charts/words";
import { Block, type SectionProps } from "./section";

/** So many arms are drawn before the reader asks for more. */
const ARMS_AT_FIRST = 16;
/** The height of a row, where its bars begin and how high each is, in pixels. */
const ROW = 72;
const TOP = 19;
const BAR = 15;

const COLOURS: Record<Source, string> = {
  launches: colour.remainder,
  blocks: "var(--series-5)",
  windows: "var(--series-4)",
};

/** Where the scatter of the primary metric comes from, and what would make the interval narrower. */
export function ScatterSection({ load, under, prefix }: SectionProps) {
  const marks = useMemo(() => armMarks(under), [under]);
  const known = useMemo(
    () => under.arms.filter((arm) => scattersOf([{ arm, mark: markOf(marks, arm.id) }], under.primary).length > 0),
    [under, marks],
  );
  const ids = useMemo(() => known.map((arm) => arm.id), [known]);
  const { arms, picker, told } = useShown(under, marks, ids, ARMS_AT_FIRST);
  const scatters = useMemo(() => {
    const shown = arms.flatMap((mark) => known.filter((arm) => arm.id === mark.id).map((arm) => ({ arm, mark })));
    return scattersOf(shown, under.primary, load.words.advice);
  }, [arms, known, load, under]);
  const draw = useCallback((width: number) => drawn(scatters, width), [scatters]);
  if (known.length === 0) return null;
  return (
    <Block name="scatter" title="Where the scatter comes from" prefix={prefix}>
      <Figure
        title={`Scatter of ${words(under.primary).spoken} by source: standard deviations of log ratios`}
        name={`${prefix}scatter`}
        description={joined(told, scatterInWords(scatters))}
        draw={draw}
        csv={() => scatterTable(under.arms, under.primary)}
        entries={SOURCES.map((source): KeyEntry => ({ label: source, colour: COLOURS[source], shape: "square" }))}
        height={scatters.length * ROW + 48}
        controls={picker}
      >
        <ShownNote told={told} />
        <p class="note">Intervals, too, are those of log ratios: ± 5 % is from ÷ 1.05 to × 1.05.</p>
        {advices(scatters).map((advice) => (
          <p key={advice} class="note">{advice}</p>
        ))}
      </Figure>
    </Block>
  );
}

function drawn(scatters: readonly ArmScatter[], width: number): Element | null {
  if (scatters.length === 0) return null;
  const bars = scatters.flatMap((of, row) => of.sources.map(({ source, sd }, i) => ({ source, sd, top: row + (TOP + i * BAR) / ROW })));
  type Bar = (typeof bars)[number];
  const highest = extent(bars.map((bar) => bar.sd))[1];
  const domain: [number, number] = [0, highest > 0 ? highest * 1.02 : 0.01];
  const each = pixelsEach({ width, domain });
  const figure = (bar: Bar) => (bar.sd === null ? `${bar.source}: unknown` : `${bar.source} ${percentTwo(bar.sd)}`);
  // Within the bar where it is long enough, else behind it.
  const isWithin = (bar: Bar) => (bar.sd ?? 0) * each > figure(bar).length * LETTER + 8;
  const middle = (bar: Bar) => bar.top + (BAR - 2) / 2 / ROW;
  return rowsOf({
    width,
    row: ROW,
    domain,
    labels: scatters.map((of) => ({ label: of.mark.label, figures: widthsInWords(of), short: "" })),
    axis: along("%", { ticks: ticksIn(width), tickFormat: (sd: number) => tickText(PERCENT, sd) }),
    marks: [
      Plot.rect(bars, {
        x1: () => 0,
        x2: (bar: Bar) => bar.sd ?? 0,
        y1: "top",
        y2: (bar: Bar) => bar.top + (BAR - 2) / ROW,
        fill: (bar: Bar) => COLOURS[bar.source],
      }),
      Plot.text(bars.filter(isWithin), { x: () => 0, y: middle, dx: 5, textAnchor: "start", fill: "#000", text: figure }),
      Plot.text(bars.filter((bar) => !isWithin(bar)), {
        x: (bar: Bar) => bar.sd ?? 0,
        y: middle,
        dx: 5,
        textAnchor: "start",
        fill: "currentColor",
        stroke: colour.paper,
        strokeWidth: 3,
        text: figure,
      }),
    ],
  });
}
