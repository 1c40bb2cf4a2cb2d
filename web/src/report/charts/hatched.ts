import * as Plot from "@observablehq/plot";

import { element } from "./panel";

let patterns = 0;

/** Rectangles filled with slanted lines, for what is lost or void: it shows without its colour. */
export function hatched<Datum>(data: readonly Datum[], place: Plot.RectOptions, colour: string): Plot.Markish[] {
  // Pictures share a page, and ids are the page's.
  const id = `hatches-${++patterns}`;
  const pattern = element("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(element("line", { x1: 0, x2: 0, y1: 0, y2: 5, stroke: colour, "stroke-width": 3 }));
  return [
    () => {
      const definitions = element("defs", {});
      definitions.append(pattern);
      return definitions;
    },
    Plot.rect(data as Plot.Data, { ...place, fill: `url(#${id})`, stroke: colour }),
  ];
}
