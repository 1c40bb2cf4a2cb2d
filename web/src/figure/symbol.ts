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

/** As much as a disc of four pixels' radius covers. */
const AREA = 50;

/** A point's shape around zero, as Plot draws it. */
export function symbolPath(of: ArmStyle["symbol"]): string {
  return symbol(TYPES[of], AREA)() ?? "";
}
