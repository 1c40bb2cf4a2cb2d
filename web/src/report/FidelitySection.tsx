import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import type { Delivery } from "../document";
import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { PERCENT, tickText } from "../figure/format";
import { colour, ofSoundness } from "../figure/palette";
import { useShown } from "./charts/ArmPicker";
import { type ArmMark, having } from "./charts/arms";
import { extent } from "./charts/extent";
import { deliveriesInWords, fidelityTable } from "./charts/fidelity";
import { hatched } from "./charts/hatched";
import { along, fitted, ticksIn } from "./charts/panel";
import { rowsOf } from "./charts/rows";
import { Block, type SectionProps } from "./section";

/** Bars drawn until the reader asks for more. */
const BARS_AT_FIRST = 24;
/** The height of a row, and the positions of its bar and of the text below it, in pixels. */
const ROW = 58;
const BAR = [20, 36] as const;
const BELOW = 46;

/** The delivered share of expected telemetry; unexpected telemetry is in the tables. */
export function FidelitySection({ load, under, prefix }: SectionProps) {
  const { deliveries } = load;
  const { arms, picker, shownNote } = useShown(load, deliveries, BARS_AT_FIRST);
  const bars = useMemo(() => having(arms, deliveries), [arms, deliveries]);
  const draw = useCallback((width: number) => drawn(bars, width), [bars]);
  if (deliveries.length === 0) return null;
  const lossy = bars.filter(({ own }) => own.losses !== "");
  return (
    <Block name="fidelity" title="Fidelity" prefix={prefix}>
      <Figure
        title="Delivered share of expected telemetry"
        name={`${prefix}fidelity`}
        shownNote={shownNote}
        description={deliveriesInWords(bars)}
        draw={draw}
        csv={() => fidelityTable(under.arms, deliveries)}
        entries={bars.some(({ own }) => own.share !== null && own.share < 1) ? KEY : KEY.slice(0, 1)}
        height={bars.length * ROW + 48}
        controls={picker}
      >
        {lossy.length > 0 && (
          <ul class="reasons">
            {lossy.map(({ mark, own }) => (
              <li key={mark.id}>
                {mark.label}: {own.losses}
              </li>
            ))}
          </ul>
        )}
      </Figure>
    </Block>
  );
}

const KEY: KeyEntry[] = [
  { label: "delivered", colour: colour.fit, shape: "filled" },
  { label: "lost", colour: ofSoundness("void"), shape: "hatched" },
];

function drawn(bars: readonly { mark: ArmMark; own: Delivery }[], width: number): Element | null {
  if (bars.length === 0) return null;
  const highest = extent([1, ...bars.map(({ own }) => own.share)])[1];
  const rows = bars.map(({ own }, row) => ({ row, share: own.share ?? 0, isExpected: own.share !== null, note: own.note }));
  type Row = (typeof rows)[number];
  const upright = {
    y1: (of: Row) => of.row + BAR[0] / ROW,
    y2: (of: Row) => of.row + BAR[1] / ROW,
  };
  const expected = rows.filter((of) => of.isExpected);
  const lossy = expected.filter((of) => of.share < 1);
  return rowsOf({
    width,
    row: ROW,
    domain: [0, highest * 1.01],
    labels: bars.map(({ mark: { label }, own: { figures, short } }) => ({ label, figures, short })),
    axis: along("% of expected telemetry", {
      ticks: ticksIn(width),
      tickFormat: (share: number) => tickText(PERCENT, share),
    }),
    marks: [
      hatched(lossy, { x1: "share", x2: () => 1, ...upright }, ofSoundness("void")),
      Plot.rect(expected, { x1: () => 0, x2: "share", ...upright, fill: colour.fit }),
      Plot.rect(expected, { x1: () => 0, x2: () => 1, ...upright, fill: "none", stroke: colour.soft }),
      Plot.text(rows, {
        y: (of: Row) => of.row + BELOW / ROW,
        frameAnchor: "left",
        textAnchor: "start",
        dx: 3,
        fill: colour.soft,
        text: (of: Row) => fitted(of.note, width - 16),
      }),
    ],
  });
}
