// The frame of every picture, to be used so:
//
//   const draw = useCallback((width: number) => Plot.plot({ width, … }), [load]);
//   <Figure title="…" name="bill" description="…" draw={draw} csv={() => rows} entries={key} height={320} />
//
// - `draw` is called when the picture comes near the reader's sight, when its place gets another
//   width, when `draw` itself changes (so keep it with `useCallback`), and before printing.
// - Colours are `var(--…)` from `palette.ts`, also in Plot's `fill` and `stroke`: they follow the theme
//   and the printer by themselves, and nothing need be drawn again.
// - `entries` is the key beneath; it goes into saved files too. So never use Plot's own legends.
// - `controls` stand between title and picture: a select, a filter.
// - A picture that is not drawn here but ready made gives its text as `svg`, for saving; it is shown, and
//   put in words, by the children.
// - Files are called RUN-NAME.svg; `RunName` (run.ts) says which run.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";

import { Drawing } from "./drawing";
import { Key, type KeyEntry } from "./Key";
import { RunName, Stamp } from "./run";
import { type Field, saveCsv, savePng, saveSvg } from "./saving";

export interface FigureProps {
  /** What it shows, above it. */
  title: string;
  /** The name of its files when it is saved, without an ending. */
  name: string;
  /** The picture in words, for those who can't see it. */
  description: string;
  /** That not all arms are shown: said with the description, and in print. */
  told?: string | null;
  /** Draws it as wide as its place, in pixels; null when there is nothing to draw. */
  draw?: (width: number) => Element | null;
  /** The figures in it, a row of headings first. */
  csv?: () => Field[][];
  /** What its marks mean. */
  entries?: KeyEntry[];
  /** About how high it will be, in pixels, so that the page does not jump when it is drawn. */
  height?: number;
  /** An SVG document to be saved, where nothing is drawn here. */
  svg?: string;
  /** What the reader can choose about it. */
  controls?: ComponentChildren;
  /** What stands below it: notes. */
  children?: ComponentChildren;
}

const nothing = () => null;

/** A picture higher than this does not fit a page of paper, and may be parted. */
const LONG = 850;

/** A picture with its title, its description, and what saves it. */
export function Figure(props: FigureProps) {
  const { title, told = null, draw = nothing, csv, entries = [], height = 240, controls, children } = props;
  const description = told === null ? props.description : `${told} ${props.description}`;
  const place = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const run = useContext(RunName);
  const stamp = useContext(Stamp);
  const id = useId();
  const [problem, setProblem] = useState<string | null>(null);

  useEffect(() => {
    if (!place.current) return undefined;
    const own = new Drawing(place.current, draw);
    drawing.current = own;
    return () => own.end();
    // A later `draw` is handed over below.
  }, []);
  useEffect(() => drawing.current?.replace(draw), [draw]);

  const file = `${run}-${props.name}`;
  const picture = () => ({
    title: stamp ? `${title} (${stamp})` : title,
    description,
    place: drawing.current?.drawn() ?? null,
    text: props.svg ?? null,
    source: run,
  });
  const asPng = async () => {
    setProblem(null);
    try {
      await savePng(file, picture());
    } catch (error) {
      setProblem(`No PNG could be made of it: ${error instanceof Error ? error.message : String(error)}. Save it as SVG instead.`);
    }
  };
  return (
    <figure aria-labelledby={id} class={height > LONG ? "long" : undefined}>
      <figcaption>
        <span id={id}>{title}</span>
        <span class="tools" role="group" aria-label={`Save “${title}”`}>
          <button type="button" onClick={() => saveSvg(file, picture())}>SVG</button>
          <button type="button" onClick={() => void asPng()}>PNG</button>
          {csv && <button type="button" onClick={() => saveCsv(file, csv())}>CSV</button>}
        </span>
      </figcaption>
      {problem !== null && <p class="note" role="alert">{problem}</p>}
      {controls && <div class="controls">{controls}</div>}
      {props.svg === undefined && (
        <>
          <div
            class="drawing"
            data-stamp={stamp ?? undefined}
            ref={place}
            role="img"
            aria-labelledby={id}
            aria-describedby={`${id}-words`}
            style={{ minHeight: `${height}px` }}
          />
          <p id={`${id}-words`} class="unseen">{description}</p>
        </>
      )}
      <Key entries={entries} />
      {told !== null && <p class="note">{told}</p>}
      {children}
    </figure>
  );
}
