// Documents for tests of what is drawn: a plain one, to be changed where a test needs it odd.

import type { Arm, Interval, Metric, UnderLoad } from "../../analysis";
import type { Series, Words } from "../../document";

/** An interval of this estimate. */
export function interval(estimate: number, half = 1): Interval {
  return { estimate, low: estimate - half, high: estimate + half, confidence: 0.95, method: "test" };
}

/** A metric with nothing in it but what is given. */
export function metric(own: Partial<Metric> = {}): Metric {
  return {
    unit: "us",
    direction: "lower",
    baseline: null,
    arm: null,
    difference: null,
    relative: null,
    exceeds_nil: null,
    verdict: null,
    smallest_visible: null,
    within_launch_half_width: null,
    needs_s: null,
    scatter: null,
    windows: 0,
    rounds: 0,
    ...own,
  };
}

/** An arm of which nothing is known but what is given. */
export function arm(id: string, own: Partial<Arm> = {}): Arm {
  return { id, name: id, role: "treatment", levels: {}, metrics: {}, bill: null, fidelity: null, ...own };
}

/** A load with these arms. */
export function under(arms: Arm[], own: Partial<UnderLoad> = {}): UnderLoad {
  return {
    regime: null,
    primary: "cpu_per_request",
    design: {
      order: "mirrored",
      load: "open",
      rate: 100,
      rounds: 2,
      rounds_planned: 2,
      blocks: 4,
      measured_s: 1,
      interest: 0.005,
    },
    arms,
    curves: [],
    ...own,
  };
}

/** Baseline, control, and so many treatments. */
export function armsOf(treatments: number): Arm[] {
  return [
    arm("off", { role: "baseline" }),
    arm("control", { role: "control" }),
    ...Array.from({ length: treatments }, (_, i) => arm(`t${i}`, { metrics: { cpu_per_request: metric({ relative: interval(i / 100) }) } })),
  ];
}

/** Words of a load of which nothing is to be said. */
export function words(own: Partial<Words> = {}): Words {
  return { curves: [], bill: [], advice: [], ...own };
}

/** A series in which nothing happened. */
export function series(own: Partial<Series> = {}): Series {
  return {
    lasts_s: 0,
    bin_s: null,
    rounds: [],
    arms: [],
    machine: { at_s: [], steal: [], pressure: [], busy_cores: [] },
    windows: [],
    windows_in_all: 0,
    ...own,
  };
}
