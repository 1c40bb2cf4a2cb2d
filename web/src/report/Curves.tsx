import * as Plot from "@observablehq/plot";
import { useCallback, useMemo, useState } from "preact/hooks";

import type { Curve } from "../analysis";
import type { CurveWords } from "../document";
import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { colour, ofVerdict } from "../figure/palette";
import { Choice } from "./charts/Choice";
import {
  type Against,
  type CurvePicture,
  type Point,
  axesOf,
  curveInWords,
  curvePicture,
  curveTable,
} from "./charts/curve";
import { along, heights, panel, ticksIn } from "./charts/panel";
import { Block, type SectionProps } from "./section";

/** Overheads over swept factors, with the fitted curves. */
export function Curves({ load, under, prefix }: SectionProps) {
  const curves = under.curves.flatMap((curve, i) => {
    const words = load.curves[i];
    return words && curvePicture(curve, words, "attempted") ? [{ curve, words }] : [];
  });
  if (curves.length === 0) return null;
  return (
    <Block name="curves" title="Over the swept factor" prefix={prefix}>
      <div class="chart-grid">
        {curves.map(({ curve, words }, i) => (
          <CurveFigure key={`${curve.factor} ${curve.of} ${curve.metric} ${curve.scale}`} curve={curve} words={words} name={`${prefix}curve-${i + 1}`} />
        ))}
      </div>
    </Block>
  );
}

function CurveFigure({ curve, words, name }: { curve: Curve; words: CurveWords; name: string }) {
  const [against, setAgainst] = useState<Against>("attempted");
  const [axis, setAxis] = useState<"linear" | "log">("linear");
  const picture = useMemo(() => curvePicture(curve, words, against), [curve, words, against]);
  const draw = useCallback((width: number) => picture && drawn(picture, axis, width), [picture, axis]);
  if (!picture) return null;
  const axes = axesOf(curve).map((value) => ({ value, label: value }));
  const sentences = curveInWords(words, against);
  const controls = (axes.length > 1 || picture.isWide) && (
    <>
      <Choice label="Against" options={axes} chosen={against} choose={setAgainst} />
      {picture.isWide && (
        <Choice label="Axis" options={AXES} chosen={axis} choose={setAxis} />
      )}
    </>
  );
  return (
    <Figure
      title={picture.title}
      name={name}
      description={["Overheads with their 95 % intervals, by rising level.", ...words.points, ...sentences].join(" ")}
      draw={draw}
      csv={() => curveTable(curve, words)}
      entries={keyOf(picture)}
      height={280}
      controls={controls}
    >
      {sentences.map((sentence) => (
        <p key={sentence} class="note">{sentence}</p>
      ))}
    </Figure>
  );
}

const AXES = [
  { value: "linear", label: "linear" },
  { value: "log", label: "logarithmic" },
] as const;

/** Points with their intervals, the curve and its confidence band, and crosses at the predictions of held-out points. */
function drawn(picture: CurvePicture, axis: "linear" | "log", width: number): Element {
  const { points, confidence_band, heldOut, scale } = picture;
  const levels = points.map((point) => point.x);
  const lines = { x: "x", y1: (point: Point) => point.overhead.low, y2: (point: Point) => point.overhead.high };
  const disc = { x: "x", y: (point: Point) => point.overhead.estimate, r: 4.5, stroke: colour.ink, strokeWidth: 1.5 };
  return panel({
    width,
    height: 280,
    // A level of zero has no logarithm: the axis is linear up to the smallest level above zero.
    x: axis === "log" ? { type: "symlog", constant: Math.min(...levels.filter((x) => x > 0)) } : { zero: true },
    y: { zero: true, nice: true },
    marks: [
      heights(`overhead${scale.unit === "" ? "" : `, ${scale.unit}`}`, scale, { differences: true }),
      along(picture.xLabel, axis === "log" ? { ticks: levels } : { ticks: ticksIn(width) }),
      Plot.ruleY([0], { stroke: colour.soft }),
      Plot.areaY(confidence_band, { x: "x", y1: "low", y2: "high", fill: colour.fit, fillOpacity: 0.2 }),
      Plot.lineY(confidence_band, { x: "x", y: "y", stroke: colour.fit, strokeWidth: 2, strokeDasharray: picture.isRejected ? "6 3" : "none" }),
      Plot.ruleX(points, { ...lines, stroke: colour.ink, strokeWidth: 1.5 }),
      Plot.dot(points, { ...disc, fill: (point: Point) => (point.isBeyondDropLimit ? colour.paper : colour.ink) }),
      Plot.dot(heldOut, {
        x: "x",
        y: "predicted",
        symbol: "times",
        r: (of: { isInside: boolean }) => (of.isInside ? 3.5 : 6),
        stroke: (of: { isInside: boolean }) => (of.isInside ? colour.fit : ofVerdict("costs")),
        strokeWidth: 2,
      }),
    ],
    r: { type: "identity" },
    color: { type: "identity" },
  });
}

/** The meaning of the marks that are in the picture. */
function keyOf(picture: CurvePicture): KeyEntry[] {
  const all: [boolean, KeyEntry][] = [
    [true, { label: "a level with its 95 % interval", colour: colour.ink, shape: "disc" }],
    [picture.points.some((point) => point.isBeyondDropLimit), { label: "beyond the drop limit: not fitted", colour: colour.ink, shape: "ring" }],
    [
      picture.confidence_band.length > 0,
      picture.isRejected
        ? { label: "fitted curve with lack of fit", colour: colour.fit, shape: "dashed" }
        : { label: "fitted curve with its 95 % confidence band", colour: colour.fit, shape: "line" },
    ],
    [picture.heldOut.some((of) => of.isInside), { label: "held-out point: prediction by the curve through all others", colour: colour.fit, shape: "times" }],
    [picture.heldOut.some((of) => !of.isInside), { label: "the same, where the point disagrees", colour: ofVerdict("costs"), shape: "times" }],
  ];
  return all.filter(([isThere]) => isThere).map(([, entry]) => entry);
}
