import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { PERCENT, isFigure, tickText } from "../figure/format";
import { colour, ofSoundness } from "../figure/palette";
import { ShownNote, useShown } from "./charts/ArmPicker";
import { armMarks } from "./charts/arms";
import { extent } from "./charts/extent";
import { type Delivery, deliveriesInWords, deliveriesOf, fidelityTable } from "./charts/fidelity";
import { hatched } from "./charts/hatched";
import { along, fitted, ticksIn } from "./charts/panel";
import { rowsOf } from "./charts/rows";
import { joined } from "./charts/words";
import { Block, type SectionProps } from "./section";

/** So many bars are drawn before the reader asks for more. */
const BARS_AT_FIRST = 24;
/** The height of a row, and where its bar and the line below it stand, in pixels. */
const ROW = 58;
const BAR = [20, 36] as const;
const BELOW = 46;

/** What arrived of the telemetry that was expected; what came unexpected is in the tables. */
export function FidelitySection({ under, prefix }: SectionProps) {
  const marks = useMemo(() => armMarks(under), [under]);
  const sending = useMemo(() => {
    const all = under.arms.filter((arm) => arm.fidelity);
    return all.some((arm) => isFigure(arm.fidelity?.expected)) ? all : [];
  }, [under]);
  const ids = useMemo(() => sending.map((arm) => arm.id), [sending]);
  const { arms, picker, told } = useShown(under, marks, ids, BARS_AT_FIRST);
  const deliveries = useMemo(() => {
    const shown = arms.flatMap((mark) => sending.filter((arm) => arm.id === mark.id).map((arm) => ({ arm, mark })));
    return deliveriesOf(shown);
  }, [arms, sending]);
  const draw = useCallback((width: number) => drawn(deliveries, width), [deliveries]);
  if (sending.length === 0) return null;
  const reasons = deliveries.filter((of) => of.reasons !== null);
  return (
    <Block name="fidelity" title="Fidelity" prefix={prefix}>
      <Figure
        title="Delivered of what was expected"
        name={`${prefix}fidelity`}
        description={joined(told, deliveriesInWords(deliveries))}
        draw={draw}
        csv={() => fidelityTable(under.arms)}
        entries={deliveries.some((of) => of.share !== null && of.share < 1) ? KEY : KEY.slice(0, 1)}
        height={deliveries.length * ROW + 48}
        controls={picker}
      >
        <ShownNote told={told} />
        {reasons.length > 0 && (
          <ul class="reasons">
            {reasons.map((of) => (
              <li key={of.mark.id}>
                {of.mark.label}: {of.reasons}
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

function drawn(deliveries: readonly Delivery[], width: number): Element | null {
  if (deliveries.length === 0) return null;
  const highest = extent([1, ...deliveries.map((of) => of.share)])[1];
  const rows = deliveries.map((of, row) => ({ ...of, row, share: of.share ?? 0, isExpected: of.share !== null }));
  type Row = (typeof rows)[number];
  const upright = {
    y1: (of: Row) => of.row + BAR[0] / ROW,
    y2: (of: Row) => of.row + BAR[1] / ROW,
  };
  const expected = rows.filter((of) => of.isExpected);
  const lossy = expected.filter((of) => of.share < 1);
  const notes = (of: Row) => [...(of.isLossy ? ["lost more than sampling explains"] : []), of.bytes].filter(Boolean).join("; ");
  return rowsOf({
    width,
    row: ROW,
    domain: [0, highest * 1.01],
    labels: deliveries.map((of) => ({ label: of.mark.label, figures: of.figures, short: of.short })),
    axis: along("% of what was expected", {
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
        text: (of: Row) => fitted(notes(of), width - 16),
      }),
    ],
  });
}
