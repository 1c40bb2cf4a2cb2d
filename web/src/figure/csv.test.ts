import { expect, test } from "vitest";

import { csvText, type Field } from "./csv";

test("fields are quoted if necessary, and none is a formula to a spreadsheet", () => {
  const table: [field: Field, expected: string, why: string][] = [
    ["plain, text", '"plain, text"', "a comma"],
    ['say "so"', '"say ""so"""', "quotes are doubled"],
    ["two\nlines", '"two\nlines"', "a line's end"],
    [null, "", "nothing"],
    [Number.NaN, "", "no figure"],
    [-1.5, "-1.5", "a figure"],
    ["-1.5", "-1.5", "a figure as text"],
    ["+14.5 %", "+14.5 %", "signed percent"],
    ["=1+1", "'=1+1", "a formula"],
    ["@SUM(A1)", "'@SUM(A1)", "a function"],
    ["+10.1 to +19.0", "'+10.1 to +19.0", "a range begins like a formula"],
    ["-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0", "what runs a program"],
    ["\tx", "'\tx", "a tab before it"],
    ["=a,b", "\"'=a,b\"", "both"],
  ];
  for (const [value, expected, why] of table) expect(csvText([[value]]), why).toBe(`${expected}\r\n`);
  expect(csvText([["a", "b"], [1, 2]])).toBe("a,b\r\n1,2\r\n");
});
