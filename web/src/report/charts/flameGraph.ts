// Flame graphs are whole SVG documents that hold names of functions of others' programs. They come
// without scripts; what could run or fetch anything is taken out once more before they are shown.

/** What a flame graph is made of. */
const ELEMENTS = new Set([
  "svg", "g", "defs", "lineargradient", "radialgradient", "stop", "style", "rect", "path", "line", "circle", "ellipse",
  "polygon", "polyline", "text", "tspan", "title", "desc", "clippath",
]);

/** Whether such an element may stay, with all that is in it; others go. */
export function isAllowedElement(name: string): boolean {
  return ELEMENTS.has(name.toLowerCase());
}

/** Whether an attribute may stay: none that runs something or leads out of the document. */
export function isAllowedAttribute(name: string, value: string): boolean {
  const own = name.toLowerCase().replace(/^.*:/, "");
  if (own.startsWith("on")) return false;
  if (own === "href" || own === "src") return value.trim().startsWith("#");
  return !leadsOut(value);
}

/** Whether rules of style may stay. */
export function isAllowedStyle(rules: string): boolean {
  return !leadsOut(rules);
}

// An escape could spell any of these words, so that none may be there.
function leadsOut(text: string): boolean {
  return /@import|javascript:|expression\(|image-set|src\(|\\/i.test(text) || /url\(\s*['"]?(?!#)/i.test(text.replace(/url\(\s*['"]?#/gi, ""));
}

/** The picture with nothing in it that could run or fetch; null when it is no SVG. */
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
