// Makes a picture self-contained: it inlines the page's present colours and fonts, and adds the title above
// and the key below.

/** What is saved. */
export interface Picture {
  title: string;
  description: string;
  /** The element that holds the drawing; null if there is none. */
  place: HTMLElement | null;
  /** An SVG document that is saved as it is. */
  text: string | null;
  /** The run, printed below. */
  source: string;
}

/** An SVG document and its size in pixels. */
export interface Standalone {
  text: string;
  width: number;
  height: number;
}

/** The document; null if there is nothing to save. */
export function standalone(picture: Picture): Standalone | null {
  if (picture.text !== null) return { text: picture.text, ...sizeOf(picture.text) };
  const { place } = picture;
  const drawn = place ? [...place.querySelectorAll("svg")].filter((svg) => !svg.parentElement?.closest("svg")) : [];
  if (!place || drawn.length === 0) return null;

  const box = place.getBoundingClientRect();
  const width = Math.ceil(box.width) + 2 * MARGIN;
  const sheet = svg("svg", { xmlns: SVG, width });
  const style = getComputedStyle(place);
  const ink = style.getPropertyValue("--ink").trim() || "#000";
  sheet.setAttribute("font-family", style.fontFamily);
  sheet.setAttribute("fill", ink);
  sheet.append(
    element("title", {}, picture.title),
    element("desc", {}, picture.description),
    svg("rect", { width: "100%", height: "100%", fill: style.getPropertyValue("--paper").trim() || "#fff" }),
    element("text", { x: MARGIN, y: 28, "font-size": 15, "font-weight": 600 }, picture.title),
  );
  for (const each of drawn) {
    const at = each.getBoundingClientRect();
    const copy = inlined(each);
    copy.setAttribute("x", String(MARGIN + at.left - box.left));
    copy.setAttribute("y", String(HEAD + at.top - box.top));
    copy.setAttribute("width", String(at.width));
    copy.setAttribute("height", String(at.height));
    sheet.append(copy);
  }
  for (const caption of place.querySelectorAll(".panel-title")) {
    const at = caption.getBoundingClientRect();
    const where = { x: MARGIN + at.left - box.left, y: HEAD + at.bottom - box.top - 5, "font-size": 13.5, "font-weight": 600 };
    sheet.append(element("text", where, caption.textContent));
  }
  let y = HEAD + Math.ceil(box.height);
  y = withKey(sheet, place, y, width);
  sheet.append(element("text", { x: MARGIN, y: y + 18, "font-size": 11, "fill-opacity": 0.75 }, `${picture.source} · windage`));
  const height = y + 30;
  sheet.setAttribute("height", String(height));
  sheet.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { text: new XMLSerializer().serializeToString(sheet), width, height };
}

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 16;
/** The height of the title. */
const HEAD = 44;

// The key below the picture, in rows.
function withKey(sheet: SVGElement, place: HTMLElement, top: number, width: number): number {
  const items = [...(place.parentElement?.querySelectorAll(".key > li") ?? [])];
  let [x, y] = [MARGIN, top + 8];
  for (const item of items) {
    const label = item.textContent;
    const wide = item.getBoundingClientRect().width + 18;
    if (x > MARGIN && x + wide > width - MARGIN) [x, y] = [MARGIN, y + 22];
    const mark = item.querySelector("svg");
    if (mark) {
      const copy = inlined(mark);
      copy.setAttribute("x", String(x));
      copy.setAttribute("y", String(y));
      sheet.append(copy);
    }
    sheet.append(element("text", { x: x + 28, y: y + 11, "font-size": 12.5 }, label));
    x += wide;
  }
  return items.length > 0 ? y + 18 : top;
}

// The properties that pictures use. Inherited ones are written only where they change.
const INHERITED = [
  "color", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "paint-order", "font-family", "font-size", "font-weight", "font-style",
  "font-variant-numeric", "text-anchor", "dominant-baseline", "visibility",
];
const OWN: [property: string, initial: string][] = [
  ["opacity", "1"],
  ["display", "inline"],
  ["mix-blend-mode", "normal"],
  ["overflow", "visible"],
];

function inlined(from: SVGSVGElement): SVGElement {
  const copy = from.cloneNode(true) as SVGElement;
  const originals = [from, ...from.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, i) => {
    const target = copies[i];
    if (target) write(original, target, i === 0);
  });
  for (const each of copy.querySelectorAll("style")) each.remove();
  return copy;
}

function write(from: SVGElement, to: SVGElement, isOutermost: boolean): void {
  const own = getComputedStyle(from);
  const parent = from.parentElement ? getComputedStyle(from.parentElement) : null;
  const changes: string[] = [];
  for (const property of INHERITED) {
    const value = own.getPropertyValue(property);
    if (value && (isOutermost || value !== parent?.getPropertyValue(property) || to.hasAttribute(property))) {
      changes.push(`${property}:${value}`);
      to.removeAttribute(property);
    }
  }
  for (const [property, initial] of OWN) {
    const value = own.getPropertyValue(property);
    if (value && value !== initial && !(isOutermost && property === "display")) changes.push(`${property}:${value}`);
  }
  to.removeAttribute("class");
  to.setAttribute("style", changes.join(";"));
  if (changes.length === 0) to.removeAttribute("style");
}

function svg(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

function element(name: string, attributes: Record<string, string | number>, text: string): SVGElement {
  const made = svg(name, attributes);
  made.textContent = text;
  return made;
}

function sizeOf(text: string): { width: number; height: number } {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const box = (root.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  const of = (name: string, fallback: number | undefined) => Number.parseFloat(root.getAttribute(name) ?? "") || fallback || 1;
  return { width: of("width", box[2]), height: of("height", box[3]) };
}
