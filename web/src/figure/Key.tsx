import type { JSX } from "preact";
import { useId } from "preact/hooks";

import type { ArmStyle } from "./palette";
import { symbolPath } from "./symbol";

/** The look of a mark. Lines, points and areas are distinguished by more than colour. */
export type Shape =
  | "line" | "dashed" | "dotted"
  | "disc" | "ring" | "diamond" | "square" | "triangle"
  | "band" | "filled" | "hollow" | "hatched" | "times";

/** One entry of a key. */
export interface KeyEntry {
  label: string;
  /** A colour of `palette.ts`. */
  colour: string;
  shape: Shape;
  /** A dash pattern for shape `line`, as in SVG; see `armStyle`. */
  dash?: string | undefined;
  /** A point on a line, by Plot's name. */
  symbol?: ArmStyle["symbol"] | undefined;
}

/** The meaning of a picture's marks; null if there is nothing to distinguish. */
export function Key({ entries }: { entries: readonly KeyEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <ul class="key">
      {entries.map((entry) => (
        <li key={entry.label}>
          <Swatch entry={entry} />
          {entry.label}
        </li>
      ))}
    </ul>
  );
}

/** The entries of arms: a piece of each line with a point on it. */
export function armEntries(arms: readonly { label: string; style: ArmStyle }[]): KeyEntry[] {
  return arms.map(({ label, style }) => ({ label, shape: "line", ...style }));
}

/** The look of an entry in the picture. */
export function Swatch({ entry }: { entry: Omit<KeyEntry, "label"> }) {
  return (
    <svg width="26" height="14" viewBox="0 0 26 14" aria-hidden="true">
      <Mark {...entry} />
    </svg>
  );
}

function Mark({ colour, shape, dash, symbol }: Omit<KeyEntry, "label">): JSX.Element {
  switch (shape) {
    case "line":
      return <Line colour={colour} dash={dash} symbol={symbol} />;
    case "dashed":
      return <Line colour={colour} dash="6 3" />;
    case "dotted":
      return <Line colour={colour} dash="2 3" />;
    case "disc":
      return <circle cx="13" cy="7" r="5" fill={colour} />;
    case "ring":
      return <circle cx="13" cy="7" r="4.5" fill="var(--paper)" stroke={colour} stroke-width="2" />;
    case "diamond":
      return <path d="M13 1 19 7 13 13 7 7z" fill={colour} />;
    case "square":
      return <rect x="8" y="2" width="10" height="10" fill={colour} />;
    case "triangle":
      return <path d="M13 1.5 19 12.5 7 12.5z" fill={colour} />;
    case "band":
      return <rect x="2" y="2" width="22" height="10" fill={colour} />;
    case "filled":
      return <Box colour={colour} fill={colour} />;
    case "hollow":
      return <Box colour={colour} fill="none" />;
    case "times":
      return <path d="M8 2 18 12M18 2 8 12" stroke={colour} stroke-width="2" fill="none" />;
    case "hatched":
      return <Hatched colour={colour} />;
  }
}

function Line({ colour, dash, symbol }: { colour: string; dash: string | undefined; symbol?: ArmStyle["symbol"] | undefined }) {
  return (
    <>
      <line x1="1" x2="25" y1="7" y2="7" stroke={colour} stroke-width="2" stroke-dasharray={dash} />
      {symbol && <path transform="translate(13,7)" d={symbolPath(symbol)} fill={colour} />}
    </>
  );
}

function Hatched({ colour }: { colour: string }) {
  const id = useId();
  return (
    <>
      <pattern id={id} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line x1="0" x2="0" y1="0" y2="5" stroke={colour} stroke-width="3" />
      </pattern>
      <Box colour={colour} fill={`url(#${id})`} />
    </>
  );
}

function Box({ colour, fill }: { colour: string; fill: string }) {
  return <rect x="4" y="1" width="18" height="12" fill={fill} stroke={colour} stroke-width="1.2" />;
}
