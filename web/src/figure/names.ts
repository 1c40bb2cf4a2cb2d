/**
 * Makes text from outside safe to show: no line breaks, no control characters, no marks that change the
 * direction of writing. The binary does the same with its texts.
 */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s\u200b-\u200f\u2028-\u202e\u2060-\u206f\u061c\ufeff\ufffe\uffff]+/gu, " ").trim();
}

/** A name shortened to that many characters. Its end is kept too, because arms differ most there. */
export function shortened(name: string, characters: number): string {
  const all = [...name];
  if (all.length <= characters) return name;
  const end = Math.floor((characters - 1) / 2);
  const start = Math.max(1, characters - 1 - end);
  return `${all.slice(0, start).join("")}…${end > 0 ? all.slice(-end).join("") : ""}`;
}
