// The arms of a load for pictures: their labels and marks, and which of many are shown.

import type { Role } from "../../analysis";
import type { LoadView } from "../../document";
import { type ArmStyle, armStyle } from "../../figure/palette";

/** An arm's label and look. */
export interface ArmMark {
  id: string;
  label: string;
  role: Role;
  style: ArmStyle;
}

/** The arms of a load by id. */
export type ArmMarks = ReadonlyMap<string, ArmMark>;

/** A mark for each arm, in the order of the plan. */
export function armMarks({ arms }: Pick<LoadView, "arms">): ArmMarks {
  return new Map(arms.map(({ id, name, role }, index) => [id, { id, label: name || id, role, style: armStyle(index, role) }]));
}

/** The mark of an arm; a plain one with its id if the document does not name it. */
export function markOf(marks: ArmMarks, id: string): ArmMark {
  return marks.get(id) ?? { id, label: id, role: "treatment", style: armStyle(marks.size, "treatment") };
}

/**
 * The arms shown by default: all of `ids` if they are no more than `limit`, otherwise the baseline, the
 * control and those with the largest effect in the primary metric, in the plan's order.
 */
export function mostTelling({ arms, forests }: Pick<LoadView, "arms" | "forests">, ids: readonly string[], limit: number): string[] {
  if (ids.length <= limit) return [...ids];
  const roles = new Map(arms.map(({ id, role }) => [id, role]));
  const effects = new Map(forests[0]?.rows.map((row) => [row.arm, row.ends ? Math.abs(row.ends.estimate) : -1]));
  const effect = (id: string) => ((roles.get(id) ?? "treatment") === "treatment" ? (effects.get(id) ?? -1) : Infinity);
  const ranked = ids.map((id, place) => ({ id, place, effect: effect(id) }));
  ranked.sort((a, b) => (a.effect === b.effect ? a.place - b.place : b.effect - a.effect));
  const kept = new Set(ranked.slice(0, limit).map((of) => of.id));
  return ids.filter((id) => kept.has(id));
}

/** The entry of each of these arms in `all`, for those that have one. */
export function having<Own extends { arm: string }>(arms: readonly ArmMark[], all: readonly Own[]): { mark: ArmMark; own: Own }[] {
  return arms.flatMap((mark) => {
    const own = all.find((of) => of.arm === mark.id);
    return own ? [{ mark, own }] : [];
  });
}

/** A sentence about each of these arms, for those who can't see the picture. */
export function inWords(arms: readonly ArmMark[], all: readonly { arm: string; text: string }[]): string {
  return having(arms, all).map(({ mark, own }) => `${mark.label}: ${own.text}.`).join(" ");
}
