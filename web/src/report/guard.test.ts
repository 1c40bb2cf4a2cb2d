import { expect, it } from "vitest";

import { Guard } from "./Guard";

it("tries again for a new subject only", () => {
  const [before, after] = [{ page: 1 }, { page: 1 }];
  const props = { children: null, instead: () => null };
  const failed = { problem: "no arms", of: before };
  expect(Guard.getDerivedStateFromProps({ ...props, of: before }, failed)).toBeNull();
  expect(Guard.getDerivedStateFromProps({ ...props, of: after }, failed)).toEqual({ problem: null, of: after });
});
