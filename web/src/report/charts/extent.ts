/** The least and the largest of what are figures among these; 0 and 0 where there is none. */
export function extent(figures: Iterable<number | null | undefined>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const figure of figures) {
    if (typeof figure !== "number" || !Number.isFinite(figure)) continue;
    if (figure < low) low = figure;
    if (figure > high) high = figure;
  }
  return low <= high ? [low, high] : [0, 0];
}
