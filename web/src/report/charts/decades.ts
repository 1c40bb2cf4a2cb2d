/**
 * Ticks of a logarithmic axis between two values: powers of ten, with 3, or 2 and 5, between them if they are
 * few; both ends if fewer than two are left.
 */
export function decades(least: number, most: number): number[] {
  if (!(least > 0) || most < least) return [];
  const first = Math.floor(Math.log10(least));
  const last = Math.ceil(Math.log10(most));
  const steps = last - first > 3 ? [1] : last - first > 1 ? [1, 3] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)).flatMap((ten) => steps.map((step) => step * ten));
  const within = all.filter((tick) => tick >= least * (1 - BESIDE) && tick <= most * (1 + BESIDE));
  return within.length > 1 ? within : [...new Set([least, most].map((end) => Number(end.toPrecision(3))))];
}

/** The margin of the axis on each side, as a share. */
export const BESIDE = 0.05;
