import { expect, it } from "vitest";

import css from "./colours.css?raw";

/** The variables of a theme: those of `:root`, with the changes of the dark one. */
function theme(name: "light" | "dark"): Map<string, string> {
  const dark = css.indexOf("@media screen and (prefers-color-scheme: dark)");
  const print = css.indexOf("@media print");
  const text = name === "light" ? css.slice(0, dark) : css.slice(dark, print);
  return new Map([...text.matchAll(/--([\w-]+): (#[0-9a-f]+)/g)].map(([, name = "", colour = ""]) => [name, colour]));
}

/** Relative luminance as in WCAG 2. */
function luminance(colour: string): number {
  const hex = colour.length === 4 ? [...colour.slice(1)].map((digit) => digit + digit).join("") : colour.slice(1);
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [one, other].map(luminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Backgrounds, and lines that are meant to be faint. */
const NOT_SEEN = new Set(["paper", "panel", "line", "within"]);

it.each(["light", "dark"] as const)("every meaningful colour is visible on paper in the %s theme", (name) => {
  const colours = theme(name);
  const faint = [...colours].filter(([of, colour]) => !NOT_SEEN.has(of) && contrast(colour, colours.get("paper") ?? "") < 3);
  expect(faint).toEqual([]);
  expect(colours.size).toBeGreaterThan(25);
});

it.each(["light", "dark"] as const)("text is readable on paper and in the bars of the %s theme", (name) => {
  const colours = theme(name);
  for (const of of ["ink", "soft"]) expect(contrast(colours.get(of) ?? "", colours.get("paper") ?? ""), of).toBeGreaterThan(4.5);
  for (const of of ["agent", "service"]) expect(contrast(colours.get(of) ?? "", colours.get("within") ?? ""), of).toBeGreaterThan(4.5);
  for (const of of ["generator", "windage", "kernel", "remainder", "agent-outside", "exporter"]) {
    expect(contrast(colours.get(of) ?? "", "#000"), of).toBeGreaterThan(4.5);
  }
});

it("themes have the same colours, and the bill's lines use none of the verdicts' colours", () => {
  const [light, dark] = [theme("light"), theme("dark")];
  expect([...dark.keys()].sort()).toEqual([...light.keys()].sort());
  for (const colours of [light, dark]) expect(colours.get("service")).not.toBe(colours.get("costs"));
});
