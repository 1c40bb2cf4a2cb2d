import { colour } from "./palette";

/** The font size in pictures, in pixels, and the approximate width of a character. */
export const LETTERS = 12;
export const LETTER = 6.5;
/** The font size of names and figures next to intervals. */
export const NAMES = 12.5;
export const OF_NAME = 6.9;

/** A halo that keeps text readable over lines. */
export const HALO = { stroke: colour.paper, strokeWidth: 4 } as const;
