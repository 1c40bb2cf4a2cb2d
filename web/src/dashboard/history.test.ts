import { expect, test } from "vitest";

import type { HistoryArm } from "./api";
import { courseInWords, historyTable, levels, newest } from "./history";

const result = (day: number, estimate: number) => ({
  started: `2026-01-0${day}T00:00:00Z`,
  run: `run${day}`,
  commit: `c${day}`,
  estimate,
  low: estimate - 0.01,
  high: estimate + 0.01,
  validity: "valid" as const,
  text: `+${Math.round(estimate * 100)} %`,
});

const steady: HistoryArm = { arm: "otel", runs: 3, results: [result(1, 0.05), result(2, 0.05), result(3, 0.05)], changes: [] };

const stepped: HistoryArm = {
  ...steady,
  runs: 9,
  results: [result(1, 0.05), result(2, 0.05), result(3, 0.09), result(4, 0.07)],
  changes: [
    { started: result(3, 0).started, before: 0.05, after: 0.09, text: "up", command: null },
    { started: result(4, 0).started, before: 0.09, after: 0.07, text: "down", command: null },
  ],
};

test("levels reach from change to change, and to the newest result", () => {
  expect(levels(steady)).toEqual([]);
  const days = levels(stepped).map(({ from, to, mean }) => [from.getUTCDate(), to.getUTCDate(), mean]);
  expect(days).toEqual([[1, 3, 0.05], [3, 4, 0.09], [4, 4, 0.07]]);
});

test("the table has the newest result of each arm, and the file has all", () => {
  const chart = { plan: "shop", load: "", machine: "6502", label: "CPU per request", scale: { divisor: 0.01, unit: "%" }, arms: [stepped] };
  const [row] = newest(chart).rows;
  expect(row?.cells.map(({ text }) => text)).toEqual(["+7 %", "9", "c4", "2026-01-04"]);
  expect(historyTable([stepped])).toHaveLength(5);
});

test("a course is described in a sentence", () => {
  expect(courseInWords(steady)).toBe("otel: 3 results, the newest +5 %; no change of the level.");
  expect(courseInWords(stepped)).toContain("up; down.");
});
