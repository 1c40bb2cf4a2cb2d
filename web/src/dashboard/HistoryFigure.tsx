import * as Plot from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";

import { Figure } from "../figure/Figure";
import { armEntries, type KeyEntry } from "../figure/Key";
import { oneLine } from "../figure/names";
import { colour, armStyle, type ArmStyle } from "../figure/palette";
import { extent } from "../report/charts/extent";
import { along, heights, panel } from "../report/charts/panel";
import type { HistoryArm, HistoryChart } from "./api";
import { courseInWords, historyTable, levels } from "./history";

const HEIGHT = 300;

/** The results of every arm over time, with their intervals, and the changes of their levels. */
export function HistoryFigure({ chart }: { chart: HistoryChart }) {
  const arms = useMemo(() => marked(chart.arms), [chart]);
  const draw = useCallback((width: number) => drawn(chart, arms, width), [chart, arms]);
  const hasChanges = chart.arms.some(({ changes }) => changes.length > 0);
  const hasSuspect = chart.arms.some(({ results }) => results.some((of) => of.validity !== "valid"));
  return (
    <Figure
      title={`Difference from the baseline: ${chart.label}`}
      name={chart.plan}
      description={chart.arms.map(courseInWords).join(" ")}
      draw={draw}
      csv={() => historyTable(chart.arms)}
      entries={[...armEntries(arms.map(({ arm, style }) => ({ label: oneLine(arm.arm), style }))), ...(hasChanges ? CHANGE : [])]}
      height={HEIGHT}
    >
      {chart.arms.some(({ runs, results }) => runs > results.length) && <p class="note">The newest results are drawn; windage history has all.</p>}
      {hasSuspect && <p class="note">Hollow: the run, or this figure of it, is suspect.</p>}
    </Figure>
  );
}

const CHANGE: KeyEntry[] = [{ label: "change point", colour: colour.ink, shape: "dotted" }];

interface Marked {
  arm: HistoryArm;
  style: ArmStyle;
}

/** Treatments look like those of a run's page: the first two places there are the baseline's and the control's. */
function marked(arms: readonly HistoryArm[]): Marked[] {
  return arms.map((arm, place) => ({ arm, style: armStyle(place + 2, "treatment") }));
}

function drawn({ scale, label, arms: all }: HistoryChart, arms: readonly Marked[], width: number): Element {
  const figures = all.flatMap(({ results }) => results.flatMap((of) => [of.estimate, of.low, of.high]));
  const unit = scale.unit === "" || scale.unit === "/s" ? label : `${label}, ${scale.unit}`;
  return panel({
    width,
    height: HEIGHT,
    x: { type: "utc", inset: 10 },
    y: { domain: extent([0, ...figures]), nice: true },
    marks: [
      heights(unit, scale, { differences: true }),
      along("UTC", { tickSpacing: 130, tickFormat: Plot.formatIsoDate }),
      arms.map(({ arm, style }) => [
        Plot.ruleX(arm.changes, { x: at, stroke: style.colour, strokeDasharray: "2 3" }),
        Plot.ruleX(arm.results, { x: at, y1: "low", y2: "high", stroke: style.colour, strokeOpacity: 0.7, strokeWidth: 1.5 }),
        Plot.ruleY(levels(arm), { x1: "from", x2: "to", y: "mean", stroke: style.colour, strokeWidth: 2, strokeDasharray: style.dash ?? "none" }),
        Plot.dot(arm.results, {
          x: at,
          y: "estimate",
          symbol: style.symbol,
          r: 2.5,
          stroke: style.colour,
          fill: (of: { validity: string }) => (of.validity === "valid" ? style.colour : colour.paper),
        }),
      ]),
    ],
  });
}

const at = ({ started }: { started: string }) => new Date(started);
