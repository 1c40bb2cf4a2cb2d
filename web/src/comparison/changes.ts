// What is drawn of a comparison: by arm, both overheads and what lies between them.

import type { ChangeVerdict, ComparedLoad, ComparedMetric } from "../comparison";
import type { Band } from "../document";
import { armNames } from "../figure/names";

/** One arm of the picture. */
export interface Change {
  id: string;
  label: string;
  isControl: boolean;
  a: Band;
  b: Band;
  change: Band;
  verdict: ChangeVerdict | null;
  /** Whether the verdict falls when all comparisons of its family have to hold together. */
  isOnItsOwn: boolean;
}

/** The arms of which the metric has an overhead in both runs: shares of the baseline. */
export function changes(load: ComparedLoad, metric: string): Change[] {
  const names = armNames(load.arms);
  return load.arms.flatMap((arm) => {
    const found = arm.metrics[metric];
    const [a, b, change] = [found?.a.relative, found?.b.relative, found?.change?.relative];
    if (!found || !a || !b || !change) return [];
    const label = names.get(arm.id) ?? arm.name;
    const isOnItsOwn = found.holds_in_family === false;
    return [{ id: arm.id, label, isControl: arm.role === "control", a, b, change, verdict: found.verdict, isOnItsOwn }];
  });
}

/** The metrics of which there is anything to draw, the primary one first. */
export function comparedMetrics(load: ComparedLoad): string[] {
  const all = new Set(load.arms.flatMap((arm) => Object.keys(arm.metrics).filter((name) => isDrawable(arm.metrics[name]))));
  const others = [...all].filter((name) => name !== load.primary);
  return all.has(load.primary) ? [load.primary, ...others] : others;
}

function isDrawable(metric: ComparedMetric | undefined): boolean {
  return Boolean(metric?.a.relative && metric.b.relative && metric.change?.relative);
}
