// How figures are written: three significant digits, a unit that keeps them short, and always the sign
// of a difference. The same rules as those of the terminal (crates/windage-report/src/number.rs).

/** What stands where there is no figure. */
export const NOT_AVAILABLE = "n/a";

/** The sign of what is below nil. */
export const MINUS = "−";

/** The units of metrics in `analysis.json`. */
export type Unit = "us" | "ns" | "1/s" | "cores" | "bytes" | "s" | "1";

/** A figure with its ends, all in one unit. */
export interface Ends {
  estimate: number;
  low: number;
  high: number;
}

/** A unit for display, shared by the figures of an axis or a column. */
export interface Scale {
  divisor: number;
  unit: string;
}

/** Shares as percent. */
export const PERCENT: Scale = { divisor: 0.01, unit: "%" };

/** Figures have no more decimals than these. */
const MOST_DECIMALS = 6;

/** Figures as they are. */
export const ONE: Scale = { divisor: 1, unit: "" };

/** Of each unit: from which figure on, divided by what, called what. */
const STEPS: Record<Unit, readonly (readonly [number, number, string])[]> = {
  us: [[1e6, 1e6, "s"], [1e3, 1e3, "ms"], [0, 1, "µs"]],
  s: [[1, 1, "s"], [0, 1e-3, "ms"]],
  "1/s": [[1e7, 1e6, "M/s"], [1e4, 1e3, "k/s"], [0, 1, "/s"]],
  bytes: [[1e9, 1e9, "GB"], [1e6, 1e6, "MB"], [1e3, 1e3, "kB"], [0, 1, "B"]],
  ns: [[1e6, 1e6, "ms"], [1e4, 1e3, "µs"], [0, 1, "ns"]],
  cores: [[0, 1, "cores"]],
  "1": [[0, 1, ""]],
};

/** The unit in which the largest of these figures is short; what is no figure is left out. */
export function fitting(unit: Unit, figures: Iterable<number | null | undefined>): Scale {
  let largest = 0;
  for (const figure of figures) {
    if (isFigure(figure)) largest = Math.max(largest, Math.abs(figure));
  }
  const step = STEPS[unit].find(([from]) => largest >= from);
  return step ? { divisor: step[1], unit: step[2] } : ONE;
}

/** Whether it is there and finite. */
export function isFigure(figure: number | null | undefined): figure is number {
  return typeof figure === "number" && Number.isFinite(figure);
}

/** A figure without its unit, nil and above without a sign. */
export function bare(scale: Scale, figure: number | null | undefined): string {
  if (!isFigure(figure)) return NOT_AVAILABLE;
  const scaled = figure / scale.divisor;
  return (scaled < 0 ? MINUS : "") + fixed(scaled, decimals(scaled));
}

/** A figure with its unit: "61.2 µs". */
export function withUnit(scale: Scale, figure: number | null | undefined): string {
  return isFigure(figure) ? attach(scale, bare(scale, figure)) : NOT_AVAILABLE;
}

/** A figure in the unit that keeps it short. */
export function short(unit: Unit, figure: number | null | undefined): string {
  return withUnit(fitting(unit, [figure]), figure);
}

/** What is written, with the unit behind it. */
export function attach(scale: Scale, written: string): string {
  if (scale.unit === "") return written;
  return scale.unit === "/s" ? `${written}/s` : `${written} ${scale.unit}`;
}

/** A difference of which no interval is known, signed, with its unit: "+13.9 µs". */
export function signedPoint(scale: Scale, difference: number | null | undefined): string {
  if (!isFigure(difference)) return NOT_AVAILABLE;
  const scaled = difference / scale.divisor;
  return attach(scale, signed(scaled, decimals(scaled)));
}

/** A difference with its ends, signed: "+13.9 µs (+13.5 to +14.2)". */
export function signedEnds(scale: Scale, ends: Ends | null | undefined): string {
  const written = writtenEnds(scale, ends);
  return written ? `${written.point} (${written.range})` : NOT_AVAILABLE;
}

/** The same apart: "+13.9 µs" and "+13.5 to +14.2"; null when one of them is not finite. */
export function writtenEnds(scale: Scale, ends: Ends | null | undefined): { point: string; range: string } | null {
  if (!isEnds(ends)) return null;
  const { estimate, low, high } = scaledEnds(scale, ends);
  const largest = Math.max(Math.abs(estimate), Math.abs(low), Math.abs(high));
  // More than two decimals only where nothing would be left without them.
  const places = scale === PERCENT ? percentPlaces(largest, (high - low) / 2) : Math.min(decimals(largest), largest < 0.1 ? 6 : 2);
  return {
    point: attach(scale, signed(estimate, places)),
    range: `${signed(low, places)} to ${signed(high, places)}`,
  };
}

/** A share as signed percent with its ends. */
export function percentEnds(share: Ends | null | undefined): string {
  return signedEnds(PERCENT, share);
}

/**
 * A share as percent with three significant digits, as short as it can be: an interest, a loss. What is
 * not all is not written as 100 %, as long as six decimals tell it from that.
 */
export function percentShort(share: number | null | undefined): string {
  if (!isFigure(share)) return NOT_AVAILABLE;
  const percent = share * 100;
  let places = decimals(percent);
  while (share !== 1 && places < MOST_DECIMALS && trimmed(fixed(percent, places)) === "100") places += 1;
  return `${percent < 0 ? MINUS : ""}${trimmed(fixed(percent, places))} %`;
}

/** A share with two significant digits, as percent: half-widths and scatter. */
export function percentTwo(share: number | null | undefined): string {
  if (!isFigure(share)) return NOT_AVAILABLE;
  const percent = share * 100;
  const places = Math.max(decimals(percent) - 1, 1);
  return `${percent < 0 ? MINUS : ""}${trimmed(fixed(percent, places))} %`;
}

/** A count in groups of three digits, rounded to whole ones. */
export function count(n: number | null | undefined): string {
  if (!isFigure(n)) return NOT_AVAILABLE;
  const whole = Math.round(Math.abs(n));
  const digits = fixed(whole, 0).replace(/\B(?=(\d{3})+$)/g, ",");
  return n <= -0.5 ? MINUS + digits : digits;
}

/** A plain figure, as short as it can be: a level, evidence. */
export function plain(figure: number | null | undefined): string {
  if (!isFigure(figure)) return NOT_AVAILABLE;
  const places = Number.isInteger(figure) ? 0 : decimals(figure);
  return (figure < 0 ? MINUS : "") + fixed(figure, places);
}

/** The figure of a tick on an axis with this step (1, 2 or 5 times a power of ten), without unit; signed where differences are shown. */
export function tick(scale: Scale, figure: number, step: number, differences = false): string {
  const scaled = figure / scale.divisor;
  const size = Math.abs(step / scale.divisor);
  if (Math.abs(scaled) < size / 2) return "0";
  const places = size > 0 ? Math.min(Math.max(Math.ceil(-Math.log10(size) - 1e-9), 0), 6) : 0;
  return differences ? signed(scaled, places) : (scaled < 0 ? MINUS : "") + fixed(scaled, places);
}

/** The same where the step is not known: no longer than it must be. */
export function tickText(scale: Scale, figure: number, differences = false): string {
  const scaled = Number((figure / scale.divisor).toPrecision(6));
  const sign = scaled < 0 ? MINUS : differences && scaled > 0 ? "+" : "";
  return sign + String(Math.abs(scaled));
}

/** Whether the estimate and both ends are there and finite. */
export function isEnds(ends: Ends | null | undefined): ends is Ends {
  return ends != null && isFigure(ends.estimate) && isFigure(ends.low) && isFigure(ends.high);
}

function scaledEnds(scale: Scale, ends: Ends): Ends {
  return { estimate: ends.estimate / scale.divisor, low: ends.low / scale.divisor, high: ends.high / scale.divisor };
}

/** Without sign; beyond what a double tells apart in full, zeros. */
function fixed(figure: number, places: number): string {
  const size = Math.abs(figure);
  if (size >= 1e15) return BigInt(Math.round(size)).toString();
  const text = size.toFixed(places);
  // A figure exactly between two goes to the even one, as in Rust; `toFixed` takes the larger.
  const [whole = "", digits = ""] = size.toFixed(places + EXACT).split(".");
  const isBetween = /^50*$/.test(digits.slice(places));
  const below = places > 0 ? `${whole}.${digits.slice(0, places)}` : whole;
  return isBetween && /[02468]$/.test(below) ? below : text;
}

/** So many more decimals tell a figure in the middle from its neighbours. */
const EXACT = 30;

function signed(figure: number, places: number): string {
  const sign = figure > 0 ? "+" : figure < 0 ? MINUS : "";
  return sign + fixed(figure, places);
}

/** Decimals that leave three significant digits. */
function decimals(figure: number): number {
  const size = Math.abs(figure);
  if (size === 0) return 0;
  // The factor lets 9.996 count as the 10.0 that it is rounded to.
  const exponent = Math.floor(Math.log10(size * 1.0005));
  return Math.min(Math.max(2 - exponent, 0), MOST_DECIMALS);
}

/** One decimal, as a share of CPU is talked about; two for what is known better, none from 100 on. */
function percentPlaces(largest: number, halfWidth: number): number {
  if (largest >= 99.95) return 0;
  return halfWidth < 0.15 ? 2 : 1;
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
