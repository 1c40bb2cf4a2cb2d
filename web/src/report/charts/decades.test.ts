import { expect, it } from "vitest";

import { decades } from "./decades";

it.each([
  [1, 1000, [1, 3, 10, 30, 100, 300, 1000]],
  [2, 8e4, [10, 100, 1000, 10_000]],
  [95, 600, [100, 300]],
  [120, 600, [200, 500]],
  [1104.2, 1897.6, [1100, 1900]],
  [0, 10, []],
  [5, 5, [5]],
  [1001, 1003, [1000]],
])("between %d and %d", (least, most, expected) => {
  expect(decades(least, most)).toEqual(expected);
});
