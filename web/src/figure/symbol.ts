import {
  type SymbolType,
  symbol,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
  symbolWye,
} from "d3-shape";

import type { ArmStyle } from "./palette";

const TYPES: Record<ArmStyle["symbol"], SymbolType> = {
  circle: symbolCircle,
  cross: symbolCross,
  diamond: symbolDiamond,
  square: symbolSquare,
  star: symbolStar,
  triangle: symbolTriangle,
  wye: symbolWye,
};

/** The area of a disc with a radius of four pixels. */
const AREA = 50;

/** A point's shape around zero, as Plot draws it. */
export function symbolPath(of: ArmStyle["symbol"]): string {
  return symbol(TYPES[of], AREA)() ?? "";
}
