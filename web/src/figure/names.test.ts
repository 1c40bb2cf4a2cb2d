import { expect, test } from "vitest";

import { armNames, oneLine } from "./names";

test("text from outside can't turn or break a line", () => {
  const table = [
    ["plain, é ✓", "plain, é ✓"],
    ["a\u001b[31mred\u0007", "a [31mred"],
    ["two\nlines\r", "two lines"],
    ["wide   gap", "wide gap"],
    ["evil\u202etxt", "evil txt"],
    ["evil\u061ctxt", "evil txt"],
    ["no\ufffexml\uffff", "no xml"],
  ] as const;
  for (const [text, expected] of table) expect(oneLine(text)).toBe(expected);
});

test("arms whose names look the same are told apart by their ids", () => {
  const names = armNames([{ id: "a", name: "sdk" }, { id: "b", name: "\u202esdk" }, { id: "c", name: "other" }]);
  expect([...names.values()]).toEqual(["sdk (a)", "sdk (b)", "other"]);
});
