// The frame of every picture, used like this:
//
//   const draw = useCallback((width: number) => Plot.plot({ width, … }), [load]);
//   <Figure title="…" name="bill" description="…" draw={draw} csv={() => rows} entries={key} height={320} />
//
// - `draw` is called at once if the picture is visible, when it is about to become so, when the width of its place
//   changes, when `draw` itself changes (so keep it with `useCallback`), and before printing.
// - Colours are `var(--…)` from `palette.ts`, also in Plot's `fill` and `stroke`: they follow the theme
//   and the printer without a redraw.
// - `entries` is the key below; saved files contain it too. So never use Plot's own legends.
// - `controls` are between title and picture: a select, a filter.
// - A ready-made picture gives its text as `svg`, for saving; the children show and describe it.
// - Files are named RUN-NAME.svg; `RunName` (run.ts) provides the run.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Drawing } from "./drawing";
import { Key, type KeyEntry } from "./Key";
import { RunName, Stamp } from "./run";
import { type Field, saveCsv, savePng, saveSvg } from "./saving";

export interface FigureProps {
  /** The title above it. */
  title: string;
  /** The name of saved files, without an extension. */
  name: string;
  /** The picture in words, for those who can't see it. */
  description: string;
  /** A note that not all arms are shown, for the description and for print. */
  shownNote?: string | null;
  /** Draws it as wide as its place, in pixels; null if there is nothing to draw. */
  draw?: (width: number) => Element | null;
  /** Its figures, with a row of headings first. */
  csv?: () => Field[][];
  /** The meaning of its marks. */
  entries?: KeyEntry[];
  /** Its approximate height in pixels, so that the page does not jump when it is drawn. */
  height?: number;
  /** An SVG document to save, if nothing is drawn here. */
  svg?: string;
  /** Controls of the picture. */
  controls?: ComponentChildren;
  /** Notes below it. */
  children?: ComponentChildren;
}

const nothing = () => null;

/** A higher picture does not fit a page of paper, and may be split. */
const LONG = 850;

/** A picture with its title, its description and its save buttons. */
export function Figure(props: FigureProps) {
  const { title, shownNote = null, draw = nothing, csv, entries = [], height = 240, controls, children } = props;
  const description = shownNote === null ? props.description : `${shownNote} ${props.description}`;
  const place = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const run = useContext(RunName);
  const stamp = useContext(Stamp);
  const id = useId();
  const [problem, setProblem] = useState<string | null>(null);

  // Before the browser paints, so that the first picture of the page has the visible ones in it.
  useLayoutEffect(() => {
    if (!place.current) return undefined;
    const own = new Drawing(place.current, draw);
    drawing.current = own;
    return () => own.end();
    // A later `draw` is passed on below.
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
      {shownNote !== null && <p class="note">{shownNote}</p>}
      {children}
    </figure>
  );
}
