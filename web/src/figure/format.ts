// Formats the figures that only the browser knows: the ticks of its axes, and how much it shows. All other
// figures are already formatted in the document.

/** A unit for display, shared by the figures of an axis. */
export interface Scale {
  divisor: number;
  unit: string;
}

/** Shares as per cent. */
export const PERCENT: Scale = { divisor: 0.01, unit: "%" };

/** Figures as they are. */
export const ONE: Scale = { divisor: 1, unit: "" };

/** Whether it is present and finite. */
export function isFigure(figure: number | null | undefined): figure is number {
  return typeof figure === "number" && Number.isFinite(figure);
}

/** A tick in this unit, as short as possible; with `digits` decimals like its neighbours; signed for differences. */
export function tickText(scale: Scale, figure: number, differences = false, digits?: number): string {
  const scaled = Number((figure / scale.divisor).toPrecision(6));
  const size = digits === undefined ? String(Math.abs(scaled)) : Math.abs(scaled).toFixed(digits);
  if (Number(size) === 0) return "0";
  return (scaled < 0 ? "−" : differences ? "+" : "") + size;
}

/** The number of decimals of a step, which is 1, 2 or 5 times a power of ten. */
export function digitsOf(scale: Scale, step: number): number {
  return Math.min(Math.max(Math.ceil(-Math.log10(Math.abs(step / scale.divisor)) - 1e-9), 0), 6);
}

/** A time in the unit that keeps it short: over many decades no single unit does. */
export function timeText(us: number): string {
  const scale = us >= 1e6 ? { divisor: 1e6, unit: "s" } : us >= 1e3 ? { divisor: 1e3, unit: "ms" } : { divisor: 1, unit: "µs" };
  return `${tickText(scale, us)} ${scale.unit}`;
}

/** A count in groups of three digits. */
export function count(n: number): string {
  return n.toLocaleString("en");
}
