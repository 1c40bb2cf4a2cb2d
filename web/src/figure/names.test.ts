import { expect, test } from "vitest";

import { oneLine } from "./names";

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
