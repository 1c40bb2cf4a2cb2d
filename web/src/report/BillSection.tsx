import * as Plot from "@observablehq/plot";
import { useCallback, useMemo, useState } from "preact/hooks";

import type { Arm } from "../analysis";
import type { BillForm, BillView } from "../document";
import type { Field } from "../figure/csv";
import { Figure } from "../figure/Figure";
import { ONE, tickText } from "../figure/format";
import { LETTER } from "../figure/letters";
import { colour } from "../figure/palette";
import { useShown } from "./charts/ArmPicker";
import { Choice } from "./charts/Choice";
import {
  type Bar,
  type Entry,
  type Of,
  type Parts,
  type Segment,
  barsOf,
  billInWords,
  billOfServices,
  billTable,
  drawnOf,
  entriesOf,
  extentOf,
  servicesOf,
  servicesTable,
} from "./charts/bill";
import { along, ticksIn } from "./charts/panel";
import { pixelsEach, rowsOf } from "./charts/rows";
import { Block, type SectionProps } from "./section";

/** Bars drawn until the reader asks for more. */
const BARS_AT_FIRST = 24;
/** The height of a row, and the positions of its bar and of the total's interval, in pixels. */
const ROW = 56;
const BAR = [20, 38] as const;
const SUM = 46;

/** Who used the machine's CPU per request. */
export function BillSection(props: SectionProps) {
  return <StackedBars {...props} of={MACHINE} view={props.load.bill ?? NONE} />;
}

/** In which services an arm's CPU was spent. */
export function ServicesSection(props: SectionProps) {
  return <StackedBars {...props} of={SERVICES} view={props.load.services ?? NONE} />;
}

/** What is drawn, and how. */
interface Subject {
  name: string;
  title: string;
  entries: (view: BillView) => Entry[];
  billOf: (arm: Arm) => Parts | null;
  csv: (arms: readonly Arm[]) => Field[][];
}

const MACHINE: Subject = { name: "bill", title: "The bill", entries: entriesOf, billOf: ({ bill }) => bill, csv: billTable };
const SERVICES: Subject = { name: "services", title: "Services", entries: servicesOf, billOf: billOfServices, csv: servicesTable };

function StackedBars({ load, under, prefix, of: subject, view }: SectionProps & { of: Subject; view: BillView }) {
  const [of, setOf] = useState<Of>("whole");
  const form = view[of];
  const { arms, picker, shownNote } = useShown(load, view.whole.bars, BARS_AT_FIRST);
  const entries = useMemo(() => subject.entries(view), [subject, view]);
  const bars = useMemo(() => {
    const shown = arms.flatMap((mark) => under.arms.filter((arm) => arm.id === mark.id).map((arm) => ({ arm, mark })));
    return barsOf(shown, entries, of, form, subject.billOf);
  }, [subject, arms, under, entries, of, form]);
  const draw = useCallback((width: number) => drawn(bars, form, of, width), [bars, form, of]);
  if (view === NONE) return null;
  const total = { label: "total, with its 95 % interval", colour: colour.ink, shape: "disc" as const };
  return (
    <Block name={subject.name} title={subject.title} prefix={prefix}>
      <Figure
        title={form.title}
        name={prefix + subject.name}
        shownNote={shownNote}
        description={billInWords(bars, form)}
        draw={draw}
        csv={() => subject.csv(under.arms)}
        entries={[
          ...drawnOf(entries, bars).map((entry) => ({ label: entry.name, colour: entry.colour, shape: "square" as const })),
          ...(bars.some((bar) => bar.ends) ? [total] : []),
        ]}
        height={bars.length * ROW + 48}
        controls={
          <>
            <Choice label="Show" options={FORMS} chosen={of} choose={setOf} />
            {picker}
          </>
        }
      >
        <p class="note">{form.note}</p>
      </Figure>
    </Block>
  );
}

const NO_BARS: BillForm = { title: "", note: "", scale: ONE, bars: [] };
const NONE: BillView = { lines: [], whole: NO_BARS, difference: NO_BARS };

const FORMS = [
  { value: "whole", label: "total" },
  { value: "difference", label: "difference from the baseline" },
] as const;

/** On these colours black is too dark in the light theme. */
const DARK = new Set<string>([colour.agent, colour.service, colour.soft, "var(--series-0)"]);

/** A segment with its row. */
interface Placed extends Segment {
  row: number;
}

function drawn(bars: readonly Bar[], { scale }: BillForm, of: Of, width: number): Element | null {
  if (bars.length === 0) return null;
  const domain = extentOf(bars);
  const segments = bars.flatMap((bar, row) => bar.segments.map((segment): Placed => ({ ...segment, row })));
  const each = pixelsEach({ width, domain });
  const sums = bars.flatMap((bar, row) => (bar.ends ? [{ ...bar.ends, y: row + SUM / ROW }] : []));
  return rowsOf({
    width,
    row: ROW,
    domain,
    labels: bars.map(({ mark: { label }, figures, short }) => ({ label, figures, short })),
    axis: along(`${scale.unit} of CPU per request`, {
      ticks: ticksIn(width),
      tickFormat: (us: number) => tickText(scale, us, of === "difference"),
    }),
    marks: [
      Plot.rect(segments, {
        x1: "from",
        x2: "to",
        y1: (segment: Placed) => segment.row + BAR[0] / ROW,
        y2: (segment: Placed) => segment.row + BAR[1] / ROW,
        fill: (segment: Placed) => segment.entry.colour,
        stroke: colour.paper,
        strokeWidth: 1,
        title: (segment: Placed) => `${segment.entry.name}: ${segment.text} ${scale.unit}`,
      }),
      Plot.text(segments, {
        x: (segment: Placed) => (segment.from + segment.to) / 2,
        y: (segment: Placed) => segment.row + (BAR[0] + BAR[1]) / 2 / ROW,
        text: (segment: Placed) => within(segment, Math.abs(segment.us) * each),
        fill: (segment: Placed) => (DARK.has(segment.entry.colour) ? colour.within : "#000"),
      }),
      Plot.ruleY(sums, { y: "y", x1: "low", x2: "high", stroke: colour.ink, strokeWidth: 1.8 }),
      Plot.dot(sums, { y: "y", x: "estimate", fill: colour.ink, r: 4 }),
    ],
  });
}

/** The name and figure of a segment, as far as they fit into that many pixels. */
function within({ entry, text: figure }: Segment, room: number): string {
  const whole = `${entry.name} ${figure}`;
  const fits = (text: string) => text.length * LETTER + 6 < room;
  return fits(whole) ? whole : fits(figure) ? figure : "";
}
