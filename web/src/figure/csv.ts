/** The content of a CSV field; null for none. */
export type Field = string | number | null;

/** RFC 4180, with lines that end in CR LF. */
export function csvText(rows: Field[][]): string {
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function field(value: Field): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = harmless(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Spreadsheets treat text that begins like this as a formula, and would run what a plan's author wrote.
function harmless(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+([.,]\d+)*(e[+-]?\d+)?( ?%)?$/i.test(text);
  return isFormula ? `'${text}` : text;
}
