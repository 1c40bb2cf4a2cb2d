// Bar pictures: one row per arm with its name above the bar, so that names may be long and pictures narrow.

import * as Plot from "@observablehq/plot";

import { HALO, LETTER } from "../../figure/letters";
import { colour } from "../../figure/palette";
import { fitted, panel } from "./panel";

/** A row's name, and the text at its right. */
export interface RowLabel {
  label: string;
  /** The long and the short form of the text. */
  figures: string;
  short: string;
}

/** A picture of rows: position 0 of a row is its upper edge, 1 its lower one. */
export interface Rows {
  width: number;
  /** The height of a row in pixels. */
  row: number;
  labels: readonly RowLabel[];
  domain: [number, number];
  /** The ticks and the label of the axis below. */
  axis: Plot.Markish[];
  marks: Plot.Markish[];
}

/** Margins at both sides, in pixels. */
const SIDE = 8;
/** The vertical middle of a name within a row, in pixels. */
const NAME = 9;

const WRITTEN = { fill: "currentColor", ...HALO } as const;

/** The picture. */
export function rowsOf(of: Rows): Element {
  const { width, row, labels, domain } = of;
  const room = width - 2 * SIDE;
  const written = labels.map(({ label, figures, short }) => {
    const isWide = (label.length + figures.length + 3) * LETTER < room;
    const right = isWide ? figures : short;
    return { left: fitted(label, room - (right.length + 2) * LETTER), right };
  });
  const y = (_: unknown, i: number) => i + NAME / row;
  return panel({
    width,
    height: labels.length * row + 48,
    marginTop: 4,
    marginLeft: SIDE,
    marginRight: SIDE,
    marginBottom: 44,
    x: { domain },
    y: { domain: [0, Math.max(labels.length, 1)], reverse: true, axis: null },
    marks: [
      Plot.gridX({ stroke: colour.line, strokeOpacity: 1 }),
      of.axis,
      Plot.ruleX([0], { stroke: colour.soft }),
      of.marks,
      Plot.text(written, { y, frameAnchor: "left", textAnchor: "start", dx: 3, text: "left", ...WRITTEN }),
      Plot.text(written, { y, frameAnchor: "right", textAnchor: "end", text: "right", fontVariant: "tabular-nums", ...WRITTEN }),
    ],
  });
}

/** The pixels per unit of the axis. */
export function pixelsEach({ width, domain }: Pick<Rows, "width" | "domain">): number {
  return (width - 2 * SIDE) / (domain[1] - domain[0]);
}
