/**
 * Text from outside as it may be shown: without line breaks, control characters, and marks that turn the
 * direction of writing. The binary does the same with what it words.
 */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s\u200b-\u200f\u2028-\u202e\u2060-\u206f\u061c\ufeff\ufffe\uffff]+/gu, " ").trim();
}

/** A name that fits so many characters: its end is kept too, for there arms differ most. */
export function shortened(name: string, characters: number): string {
  const all = [...name];
  if (all.length <= characters) return name;
  const end = Math.floor((characters - 1) / 2);
  const start = Math.max(1, characters - 1 - end);
  return `${all.slice(0, start).join("")}…${end > 0 ? all.slice(-end).join("") : ""}`;
}
