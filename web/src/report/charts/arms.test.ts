import { describe, expect, it } from "vitest";

import { armMarks, markOf, mostTelling } from "./arms";
import { arm, armsOf, under } from "./fixture";

describe("arms", () => {
  it("are told apart by their ids where names are equal, and written in one line", () => {
    const marks = armMarks(under([arm("a", { name: "otel" }), arm("b", { name: "otel" }), arm("c", { name: "<script>\n\u0007x" })]));
    expect([...marks.values()].map((mark) => mark.label)).toEqual(["otel (a)", "otel (b)", "<script> x"]);
  });

  it("that the analysis does not know have a mark all the same", () => {
    expect(markOf(armMarks(under([])), "gone").label).toBe("gone");
  });

  it("are all drawn differently, up to 24 treatments", () => {
    const marks = armMarks(under(armsOf(24)));
    const looks = [...marks.values()].map(({ style }) => `${style.colour} ${style.dash} ${style.symbol}`);
    expect(new Set(looks).size).toBe(26);
  });

  it("of which there are many are the baseline, the control and those of the largest effect", () => {
    const all = armsOf(200);
    const ids = all.map((of) => of.id);
    expect(mostTelling(under(all), ids, 8)).toEqual(["off", "control", "t194", "t195", "t196", "t197", "t198", "t199"]);
    expect(mostTelling(under(all), ids.slice(0, 5), 8)).toEqual(ids.slice(0, 5));
    const nothingKnown = under(ids.map((id) => arm(id)));
    expect(mostTelling(nothingKnown, ids, 3)).toEqual(["off", "control", "t0"]);
  });
});
