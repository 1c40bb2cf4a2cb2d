// Flame graphs are SVG documents with function names from other people's programs. They come without scripts;
// anything that could run or fetch is removed again before they are shown.

/** The elements of a flame graph. */
const ELEMENTS = new Set([
  "svg", "g", "defs", "lineargradient", "radialgradient", "stop", "style", "rect", "path", "line", "circle", "ellipse",
  "polygon", "polyline", "text", "tspan", "title", "desc", "clippath",
]);

/** Whether such an element may stay, with its content; others are removed. */
export function isAllowedElement(name: string): boolean {
  return ELEMENTS.has(name.toLowerCase());
}

/** Whether an attribute may stay: none that runs something or refers to another document. */
export function isAllowedAttribute(name: string, value: string): boolean {
  const own = name.toLowerCase().replace(/^.*:/, "");
  if (own.startsWith("on")) return false;
  if (own === "href" || own === "src") return value.trim().startsWith("#");
  return !leadsOut(value);
}

/** Whether style rules may stay. */
export function isAllowedStyle(rules: string): boolean {
  return !leadsOut(rules);
}

// An escape could spell any of these words, so escapes are forbidden.
function leadsOut(text: string): boolean {
  return /@import|javascript:|expression\(|image-set|src\(|\\/i.test(text) || /url\(\s*['"]?(?!#)/i.test(text.replace(/url\(\s*['"]?#/gi, ""));
}

/** The picture without anything that could run or fetch; null if it is not an SVG. */
export function cleaned(text: string): SVGSVGElement | null {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root: Element = parsed.documentElement;
  if (parsed.querySelector("parsererror") || !(root instanceof SVGSVGElement)) return null;
  for (const element of [...root.querySelectorAll("*")]) {
    const isStyle = element.localName === "style";
    if (!isAllowedElement(element.localName) || (isStyle && !isAllowedStyle(element.textContent))) element.remove();
  }
  for (const element of [root, ...root.querySelectorAll("*")]) {
    for (const { name, value } of [...element.attributes]) {
      if (!name.startsWith("xmlns") && !isAllowedAttribute(name, value)) element.removeAttribute(name);
    }
  }
  return root;
}
