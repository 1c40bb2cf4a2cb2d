/** The least and the largest of the finite values; 0 and 0 if there are none. */
export function extent(figures: Iterable<number | null | undefined>): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const figure of figures) {
    if (typeof figure !== "number" || !Number.isFinite(figure)) continue;
    if (figure < low) low = figure;
    if (figure > high) high = figure;
  }
  return low <= high ? [low, high] : [0, 0];
}
