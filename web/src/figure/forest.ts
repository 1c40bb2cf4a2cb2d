// The layout and description of a forest plot; its words are in the document.

import type { Band, Forest } from "../document";

/** The range of the axis: all estimates, zero and the margin, and all intervals except those much wider than most. */
export function extent(forest: Forest): [low: number, high: number] {
  const ends = forest.rows.flatMap((each) => (each.ends ? [each.ends] : []));
  const reach = (e: Band) => Math.max(Math.abs(e.low), Math.abs(e.high));
  const reaches = ends.map(reach).sort((a, b) => a - b);
  const usual = reaches[Math.floor((reaches.length - 1) / 2)] ?? 0;
  const estimates = ends.map((e) => Math.abs(e.estimate));
  const margin = forest.margin ?? 0;
  const limit = Math.max(4 * usual, 1.5 * Math.max(0, ...estimates), margin);
  const low = Math.min(-margin, 0, ...ends.map((e) => Math.max(e.low, -limit)));
  const high = Math.max(margin, 0, ...ends.map((e) => Math.min(e.high, limit)));
  const pad = (high - low || Math.abs(high) || 1) * 0.04;
  return [low - pad, high + pad];
}

/** Whether an interval extends beyond the axis. */
export function isCut(forest: Forest): boolean {
  const [low, high] = extent(forest);
  return forest.rows.some(({ ends }) => ends && (ends.low < low || ends.high > high));
}

/** The picture in words: each arm's figure; of many arms the first ones. */
export function description({ about, rows }: Forest): string {
  const SPOKEN = 40;
  const arms = rows.slice(0, SPOKEN).map((row) => `${row.name}: ${row.ends ? `${row.point} (${row.range}), ` : ""}${row.word}.`);
  const more = rows.length > SPOKEN ? ` The other ${rows.length - SPOKEN} arms are in the table.` : "";
  return `${about} ${arms.join(" ")}${more}`;
}
