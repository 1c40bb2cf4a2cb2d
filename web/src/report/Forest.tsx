import { useCallback, useId, useMemo, useState } from "preact/hooks";

import type { Arm, UnderLoad } from "../analysis";
import { Figure } from "../figure/Figure";
import { atAGlance, description, type Forest as ForestData, forestOf, isCut, metricsWithIntervals, ON_ITS_OWN, ON_ITS_OWN_MEANS } from "../figure/forest";
import { forestHeight, forestPlot, smallForest } from "../figure/forestPlot";
import type { KeyEntry } from "../figure/Key";
import { MetricChoice } from "../figure/MetricChoice";
import { headline, METRICS, words } from "../figure/metrics";
import { percentShort } from "../figure/format";
import { colour } from "../figure/palette";
import type { Field } from "../figure/csv";
import { Block, type SectionProps } from "./section";

/** From this number of arms on they can be filtered by name, and the overview is folded away. */
const MANY = 60;

/** Overhead by arm and metric. */
export function Forest({ under, prefix }: SectionProps) {
  const metrics = useMemo(() => metricsWithIntervals(under, Object.keys(METRICS)), [under]);
  const [chosen, choose] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  // While a run goes on, what was chosen may lose its only interval.
  const metric = chosen !== null && metrics.includes(chosen) ? chosen : metrics[0];
  const whole = useMemo(() => (metric ? forestOf(under, metric) : null), [under, metric]);
  const forest = useMemo(() => whole && filtered(whole, filter), [whole, filter]);
  const draw = useCallback((width: number) => (forest && forest.rows.length > 0 ? forestPlot(forest, width) : null), [forest]);
  if (!metric || !whole || !forest) return null;
  return (
    <Block name="overhead" title="Overhead by arm" prefix={prefix}>
      <Figure
        title={`${headline(metric)}: difference from the baseline`}
        name={`${prefix}overhead-${metric}`}
        description={description(forest)}
        draw={draw}
        csv={() => rowsOf(forest)}
        entries={entriesOf(forest)}
        height={forestHeight(forest.rows.length, 800)}
        controls={
          <>
            <MetricChoice metrics={metrics} chosen={metric} choose={choose} />
            {whole.rows.length > MANY && <Filter value={filter} set={setFilter} shown={forest.rows.length} of={whole.rows.length} />}
          </>
        }
      >
        <p class="note">
          {words(metric).about}
          {isCut(forest) && CUT}
          {forest.rows.some((row) => row.word.includes(ON_ITS_OWN)) && ` ${ON_ITS_OWN_MEANS}`}
        </p>
        {watched(under.arms, forest).map((name) => (
          <p key={name} class="note">
            <span class="arm">{name}</span> is watched by no agent and stands here against the baseline, as all arms do. What it pays for the agents of
            others is a question of its own: while they are attached, against while they are gone.
          </p>
        ))}
      </Figure>
      <Glance under={under} prefix={prefix} />
    </Block>
  );
}

/** What the signs at the edge of a picture mean. */
const CUT = " ‹ and ›: an interval goes on beyond the picture.";

/** The bystanders in a picture: arms beside which agents watch another one. */
function watched(arms: readonly Arm[], forest: ForestData): string[] {
  const ids = new Set(arms.filter((arm) => arm["bystander"]).map((arm) => arm.id));
  return forest.rows.filter((row) => ids.has(row.id)).map((row) => row.name);
}

function Filter({ value, set, shown, of }: { value: string; set: (value: string) => void; shown: number; of: number }) {
  const id = useId();
  return (
    <span>
      <label for={id}>Only arms with</label>{" "}
      <input id={id} type="search" value={value} onInput={(event) => set(event.currentTarget.value)} />{" "}
      <span class="note" role="status">{shown} of {of} arms</span>
    </span>
  );
}

/** The answer's metric, what users feel and memory, side by side. */
function Glance({ under, prefix }: { under: UnderLoad; prefix: string }) {
  const forests = useMemo(() => atAGlance(under).flatMap((metric) => forestOf(under, metric) ?? []), [under]);
  const draw = useCallback((width: number) => panels(forests, width), [forests]);
  const arms = forests[0]?.rows.length ?? 0;
  if (forests.length < 2) return null;
  const figure = (
    <Figure
      title="At a glance: what is asked, what is felt, memory"
      name={`${prefix}glance`}
      description={forests.map((forest) => `${headline(forest.metric)}: ${description(forest)}`).join(" ")}
      draw={draw}
      csv={() => forests.flatMap((forest, i) => rowsOf(forest).slice(i === 0 ? 0 : 1))}
      entries={entriesOf(...forests)}
      height={arms * 18 + 60}
    >
      {forests.some(isCut) && <p class="note">{CUT.trim()}</p>}
    </Figure>
  );
  if (arms <= MANY) return figure;
  return <details><summary>At a glance</summary>{figure}</details>;
}

function panels(forests: ForestData[], width: number): Element {
  const columns = Math.max(1, Math.min(forests.length, Math.floor(width / 270)));
  const gap = 20;
  const each = Math.floor((width - gap * (columns - 1)) / columns);
  const grid = document.createElement("div");
  grid.className = "panels";
  grid.style.gridTemplateColumns = `repeat(${columns}, ${each}px)`;
  for (const forest of forests) {
    const panel = document.createElement("div");
    const heading = document.createElement("p");
    heading.className = "panel-title";
    heading.textContent = headline(forest.metric) + (forest.sides[0] === "costs" ? " (more is better)" : "");
    panel.append(heading, smallForest(forest, each));
    grid.append(panel);
  }
  return grid;
}

function filtered(forest: ForestData, filter: string): ForestData {
  const wanted = filter.trim().toLowerCase();
  if (!wanted) return forest;
  return { ...forest, rows: forest.rows.filter((row) => row.role === "control" || row.name.toLowerCase().includes(wanted)) };
}

function entriesOf(...forests: ForestData[]): KeyEntry[] {
  type Row = ForestData["rows"][number];
  const rows = forests.flatMap((forest) => forest.rows);
  const has = (test: (row: Row) => boolean) => rows.some((row) => row.ends && test(row));
  const is = (verdict: Row["verdict"]) => has((row) => row.role !== "control" && row.verdict === verdict);
  const interest = forests.find((forest) => forest.interest !== null)?.interest ?? null;
  const entry = (label: string, of: string, shape: KeyEntry["shape"], isThere: boolean): KeyEntry[] =>
    isThere ? [{ label, colour: of, shape }] : [];
  return [
    ...entry("control: its truth is nil", colour.control, "diamond", has((row) => row.role === "control" && row.verdict === null)),
    ...entry("control: its truth is nil, yet it differs; in the colour of its verdict", colour.ink, "diamond", has((row) => row.role === "control" && row.verdict !== null)),
    ...entry("costs", "var(--costs)", "disc", is("costs")),
    ...entry("saves", "var(--saves)", "disc", is("saves")),
    ...entry("negligible", "var(--negligible)", "disc", is("negligible")),
    ...entry("inconclusive", "var(--inconclusive)", "ring", is("inconclusive")),
    ...entry("no share of the baseline, so no verdict", colour.soft, "ring", is(null)),
    ...(interest === null ? [] : entry(`within ±${percentShort(interest)}: does not matter`, colour.interest, "band", true)),
  ];
}

function rowsOf(forest: ForestData): Field[][] {
  const unit = forest.isRelative ? "share of the baseline" : words(forest.metric).unit;
  return [
    ["metric", "unit", "arm", "id", "estimate", "low", "high", "verdict"],
    ...forest.rows.map((row): Field[] => [
      forest.metric, unit, row.name, row.id, row.ends?.estimate ?? null, row.ends?.low ?? null, row.ends?.high ?? null, row.word,
    ]),
  ];
}
