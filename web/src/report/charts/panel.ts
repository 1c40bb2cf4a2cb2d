// Shared parts of panels: fonts, axes, stacking.

import * as Plot from "@observablehq/plot";

import type { Scale } from "../../figure/format";
import { ONE, tickText } from "../../figure/format";
import { LETTER, LETTERS } from "../../figure/letters";
import { shortened } from "../../figure/names";
import { colour } from "../../figure/palette";
import "../../style/charts.css";

/** The margins of a panel, in pixels: on the left for the axis labels. */
const [LEFT, RIGHT] = [52, 12];
export const SIDES = LEFT + RIGHT;

/** A panel of the given width, in the page's fonts and colours. */
export function panel(options: Plot.PlotOptions): Element {
  return Plot.plot({
    marginTop: 26,
    marginRight: RIGHT,
    marginLeft: LEFT,
    marginBottom: 36,
    ...options,
    style: { background: "transparent", color: "inherit", fontFamily: "inherit", fontSize: `${LETTERS}px`, overflow: "visible" },
  });
}

/** Stacked panels. */
export function stacked(panels: readonly Element[]): HTMLElement {
  const all = document.createElement("div");
  all.className = "stack";
  all.append(...panels);
  return all;
}

/** The marks of a vertical axis: grid, ticks, and its label above, at the left edge of the picture. */
export function heights(
  label: string,
  scale: Scale,
  {
    differences = false,
    ticks = 5,
    text = (figure: number) => tickText(scale, figure, differences),
  }: { differences?: boolean; ticks?: number | number[]; text?: (figure: number) => string } = {},
): Plot.Markish[] {
  return [
    Plot.gridY({ ticks, stroke: colour.line, strokeOpacity: 1 }),
    Plot.axisY({
      ticks,
      tickSize: 0,
      label: null,
      tickFormat: text,
    }),
    Plot.text([label], { frameAnchor: "top-left", dx: -LEFT, dy: -22, textAnchor: "start", fontWeight: 600 }),
  ];
}

/** The marks of a horizontal axis: ticks, and its label below, at the right. */
export function along(label: string, options: Plot.AxisXOptions = {}): Plot.Markish[] {
  return [
    Plot.axisX({
      tickSize: 4,
      stroke: colour.soft,
      fill: "currentColor",
      tickFormat: (figure: number) => tickText(ONE, figure),
      ...options,
      label,
      labelAnchor: "right",
      labelArrow: "right",
    }),
  ];
}

/** How many ticks fit into a width. */
export function ticksIn(width: number, each = 80): number {
  return Math.max(2, Math.floor(width / each));
}

/** A label that fits into a width. */
export function fitted(text: string, width: number): string {
  return shortened(text, Math.max(4, Math.floor(width / LETTER)));
}

/** An SVG element with its attributes. */
export function element<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Record<string, string | number>,
): SVGElementTagNameMap[Name] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
