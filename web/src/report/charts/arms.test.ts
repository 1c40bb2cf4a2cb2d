import { describe, expect, it } from "vitest";

import { armMarks, having, inWords, markOf, mostTelling } from "./arms";
import { loadOf } from "./fixture";

describe("arms", () => {
  it("have a mark even if the document does not name them", () => {
    expect(markOf(armMarks(loadOf(0)), "gone").label).toBe("gone");
  });

  it("are all drawn differently, up to 24 treatments", () => {
    const marks = armMarks(loadOf(24));
    const looks = [...marks.values()].map(({ style }) => `${style.colour} ${style.dash} ${style.symbol}`);
    expect(new Set(looks).size).toBe(26);
  });

  it("if there are many, are reduced to the baseline, the control and the largest effects", () => {
    const all = loadOf(200);
    const ids = all.arms.map((of) => of.id);
    expect(mostTelling(all, ids, 8)).toEqual(["off", "control", "a194", "a195", "a196", "a197", "a198", "a199"]);
    expect(mostTelling(all, ids.slice(0, 5), 8)).toEqual(ids.slice(0, 5));
    expect(mostTelling({ ...all, forests: [] }, ids, 3)).toEqual(["off", "control", "a0"]);
  });

  it("are described by what is known of them", () => {
    const arms = [...armMarks(loadOf(1)).values()];
    const known = [{ arm: "a0", text: "12 µs" }, { arm: "gone", text: "?" }];
    expect(having(arms, known).map(({ mark }) => mark.id)).toEqual(["a0"]);
    expect(inWords(arms, known)).toBe("a0: 12 µs.");
  });
});
