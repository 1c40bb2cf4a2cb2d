import * as Plot from "@observablehq/plot";

import { element } from "./panel";

let patterns = 0;

/** Hatched rectangles for lost or void items, recognisable without colour. */
export function hatched<Datum>(data: readonly Datum[], place: Plot.RectOptions, colour: string): Plot.Markish[] {
  // Ids are unique on the page, which has several pictures.
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
