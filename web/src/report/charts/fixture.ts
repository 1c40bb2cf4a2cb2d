// Documents for tests of pictures: plain ones, which tests modify.

import type { Arm, Interval, Role } from "../../analysis";
import type { Forest, LoadView, Series } from "../../document";

/** An interval of this estimate. */
export function interval(estimate: number, half = 1): Interval {
  return { estimate, low: estimate - half, high: estimate + half };
}

/** An arm without figures except the given ones. */
export function arm(id: string, own: Partial<Arm> = {}): Arm {
  return { id, role: "treatment", bill: null, fidelity: null, ...own };
}

/** A forest with these intervals, of arms `a0`, `a1` and so on. */
export function forest(...ends: (Interval | null)[]): Forest {
  return {
    metric: "cpu_per_request",
    heading: "CPU per request",
    title: "CPU per request: difference from the baseline",
    about: "Differences.",
    notes: [],
    unit: "share of the baseline",
    scale: { divisor: 0.01, unit: "%" },
    margin: 0.005,
    sides: ["← saves", "costs →"],
    key: [],
    rows: ends.map((own, i) => ({ arm: `a${i}`, name: `arm ${i}`, ends: own, point: own ? "p" : "", range: own ? "r" : "", mark: "costs", word: own ? "costs" : "why" })),
  };
}

/** The arms and forests of a load with a baseline, a control and that many treatments, at rising cost. */
export function loadOf(treatments: number): Pick<LoadView, "arms" | "forests"> {
  const named = (id: string, role: Role) => ({ id, name: id, role });
  return {
    arms: [named("off", "baseline"), named("control", "control"), ...Array.from({ length: treatments }, (_, i) => named(`a${i}`, "treatment"))],
    forests: [forest(...Array.from({ length: treatments }, (_, i) => interval(i / 100)))],
  };
}

/** A series without events. */
export function series(own: Partial<Series> = {}): Series {
  return {
    lasts_s: 0,
    bin_s: null,
    rounds: [],
    quantities: [],
    arms: [],
    machine: { at_s: [], steal: [], pressure: [], busy_cores: [] },
    about: "",
    notes: [],
    windows: [],
    windows_in_all: 0,
    windows_text: "",
    ...own,
  };
}
