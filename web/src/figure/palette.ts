// Colours of pictures: names of CSS variables (style/colours.css), which SVG understands in `fill` and
// `stroke`, so that a picture follows the theme and the printer without being redrawn.

import type { Role, Soundness, Verdict } from "../analysis";
import type { ForestMark } from "../document";

/** Colours by meaning. */
export const colour = {
  ink: "var(--ink)",
  soft: "var(--soft)",
  line: "var(--line)",
  paper: "var(--paper)",
  panel: "var(--panel)",
  /** The background of differences too small to matter. */
  margin: "var(--margin)",
  control: "var(--control)",
  /** Bands around a fitted line: fill with `fillOpacity` 0.2. */
  fit: "var(--negligible)",
  /** The lines of a bill. */
  service: "var(--service)",
  agent: "var(--agent)",
  generator: "var(--generator)",
  windage: "var(--windage)",
  kernel: "var(--kernel)",
  remainder: "var(--remainder)",
  exporter: "var(--exporter)",
  /** Text on one of these. */
  within: "var(--within)",
} as const;

/** The colour of a verdict; never used without its word or shape. */
export function ofVerdict(verdict: Verdict | null): string {
  return verdict ? `var(--${verdict})` : colour.soft;
}

/** The colour of an interval's mark; never used without its word or shape. */
export function ofMark(mark: ForestMark): string {
  if (mark === "control") return colour.control;
  if (mark === "differs") return colour.ink;
  return ofVerdict(mark === "unjudged" ? null : mark);
}

/** The colour of valid, suspect or void; never used without its word or shape. */
export function ofSoundness(soundness: Soundness): string {
  return `var(--${soundness})`;
}

/** The look of an arm in pictures of several arms. */
export interface ArmStyle {
  colour: string;
  /** The dash pattern of its line, as in SVG; undefined for a solid line. */
  dash: string | undefined;
  /** Plot's name for the symbol of its points. */
  symbol: "circle" | "diamond" | "square" | "triangle" | "cross" | "star" | "wye";
}

const COLOURS = 6;
const DASHES = [undefined, "7 3", "2 3", "9 3 2 3"];
const SYMBOLS = ["circle", "square", "triangle", "star", "wye", "cross"] as const;

/**
 * The same arm looks the same in all pictures of a page. The baseline is a solid grey line, the control a
 * dashed one; treatments first vary in colour and then in dashes. `index` is the arm's place in
 * `analysis.arms`.
 */
export function armStyle(index: number, role: Role): ArmStyle {
  if (role === "baseline") return { colour: colour.ink, dash: undefined, symbol: "circle" };
  if (role === "control") return { colour: colour.control, dash: "4 3", symbol: "diamond" };
  const n = Math.max(0, index - 2);
  return {
    colour: `var(--series-${n % COLOURS})`,
    dash: DASHES[Math.floor(n / COLOURS) % DASHES.length],
    symbol: SYMBOLS[n % SYMBOLS.length] ?? "circle",
  };
}
