// The arms of a load as pictures need them: how they are written and drawn, and which of many are shown.

import type { Role, UnderLoad } from "../../analysis";
import { isFigure } from "../../figure/format";
import { armNames, oneLine } from "../../figure/names";
import { type ArmStyle, armStyle } from "../../figure/palette";

/** An arm as it is written and drawn. */
export interface ArmMark {
  id: string;
  label: string;
  role: Role;
  style: ArmStyle;
}

/** What is known of a load's arms, by id. */
export type ArmMarks = ReadonlyMap<string, ArmMark>;

/** A mark for each arm, in the order of the plan. */
export function armMarks(under: Pick<UnderLoad, "arms">): ArmMarks {
  const names = armNames(under.arms);
  return new Map(
    under.arms.map(({ id, role }, index) => {
      const label = oneLine(names.get(id) ?? id) || id;
      return [id, { id, label, role, style: armStyle(index, role) }];
    }),
  );
}

/** The mark of an arm; of one that the analysis does not know, a plain one with its id. */
export function markOf(marks: ArmMarks, id: string): ArmMark {
  return marks.get(id) ?? { id, label: oneLine(id), role: "treatment", style: armStyle(marks.size, "treatment") };
}

/**
 * Those arms that are shown while nobody chose: all of `ids` if they are no more than `limit`, else the
 * baseline, the control and those with the largest effect in the primary metric, in the plan's order.
 */
export function mostTelling(under: UnderLoad, ids: readonly string[], limit: number): string[] {
  if (ids.length <= limit) return [...ids];
  const arms = new Map(under.arms.map((arm) => [arm.id, arm]));
  const effect = (id: string): number => {
    const arm = arms.get(id);
    if (arm && arm.role !== "treatment") return Infinity;
    const relative = arm?.metrics[under.primary]?.relative?.estimate;
    return isFigure(relative) ? Math.abs(relative) : -1;
  };
  const ranked = ids.map((id, place) => ({ id, place, effect: effect(id) }));
  ranked.sort((a, b) => (a.effect === b.effect ? a.place - b.place : b.effect - a.effect));
  const kept = new Set(ranked.slice(0, limit).map((of) => of.id));
  return ids.filter((id) => kept.has(id));
}
