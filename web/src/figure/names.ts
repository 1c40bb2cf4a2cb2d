import type { Arm } from "../analysis";

/**
 * Text from outside as it may be shown: without line breaks, control characters, and marks that turn the
 * direction of writing. The binary does the same with what it words.
 */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s\u200b-\u200f\u2028-\u202e\u2060-\u206f\u061c\ufeff\ufffe\uffff]+/gu, " ").trim();
}

/** Names to show, by id: two arms of one name are told apart by their ids. */
export function armNames(arms: readonly Pick<Arm, "id" | "name">[]): Map<string, string> {
  const times = new Map<string, number>();
  const named = arms.map(({ id, name }) => ({ id, name: oneLine(name) }));
  for (const { name } of named) times.set(name, (times.get(name) ?? 0) + 1);
  return new Map(named.map(({ id, name }) => [id, times.get(name) === 1 ? name : oneLine(`${name} (${id})`)]));
}

/** With a capital first letter. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A name that fits so many characters: its end is kept too, for there arms differ most. */
export function shortened(name: string, characters: number): string {
  const all = [...name];
  if (all.length <= characters) return name;
  const end = Math.floor((characters - 1) / 2);
  const start = Math.max(1, characters - 1 - end);
  return `${all.slice(0, start).join("")}…${end > 0 ? all.slice(-end).join("") : ""}`;
}
