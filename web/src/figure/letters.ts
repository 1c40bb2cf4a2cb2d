import { colour } from "./palette";

/** The size of letters in pictures, in pixels, and about how wide one is. */
export const LETTERS = 12;
export const LETTER = 6.5;
/** Those of names and figures beside intervals. */
export const NAMES = 12.5;
export const OF_NAME = 6.9;

/** Letters that stand over lines can be read all the same. */
export const HALO = { stroke: colour.paper, strokeWidth: 4 } as const;
