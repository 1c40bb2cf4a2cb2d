import { useCallback, useId, useMemo, useState } from "preact/hooks";

import type { Forest as ForestData } from "../document";
import type { Field } from "../figure/csv";
import { Figure } from "../figure/Figure";
import { description, isCut } from "../figure/forest";
import { forestHeight, forestPlot, smallForest } from "../figure/forestPlot";
import type { KeyEntry, Shape } from "../figure/Key";
import { MetricChoice } from "../figure/MetricChoice";
import { colour, ofMark } from "../figure/palette";
import { Marked } from "./Facts";
import { Block, type SectionProps } from "./section";

/** From this number of arms on they can be filtered by name, and the overview is folded. */
const MANY = 60;

/** Overhead by arm and metric. */
export function Forest({ load: { forests, glance }, prefix }: SectionProps) {
  const [chosen, choose] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  // During a run, the chosen metric may lose its only interval.
  const whole = forests.find((each) => each.metric === chosen) ?? forests[0];
  const forest = useMemo(() => whole && filtered(whole, filter), [whole, filter]);
  const draw = useCallback((width: number) => (forest && forest.rows.length > 0 ? forestPlot(forest, width) : null), [forest]);
  const small = useMemo(() => glance.flatMap((metric) => forests.find((each) => each.metric === metric) ?? []), [forests, glance]);
  if (!whole || !forest) return null;
  return (
    <Block name="overhead" title="Overhead by arm" prefix={prefix}>
      <Figure
        title={forest.title}
        name={`${prefix}overhead-${forest.metric}`}
        description={description(forest)}
        draw={draw}
        csv={() => rowsOf(forest)}
        entries={entriesOf([forest])}
        height={forestHeight(forest.rows.length, 800)}
        controls={
          <>
            <MetricChoice of={forests} chosen={forest.metric} choose={choose} />
            {whole.rows.length > MANY && <Filter value={filter} set={setFilter} shown={forest.rows.length} of={whole.rows.length} />}
          </>
        }
      >
        {forest.notes.map((note) => <p key={note} class="note"><Marked text={note} /></p>)}
        {isCut(forest) && CUT}
      </Figure>
      <Glance forests={small} prefix={prefix} />
    </Block>
  );
}

/** The meaning of the arrows at the edge of a picture. */
const CUT = <p class="note">‹ and ›: the interval extends beyond the picture.</p>;

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

/** The metrics of the overview side by side: the primary metric, latency, memory. */
function Glance({ forests, prefix }: { forests: ForestData[]; prefix: string }) {
  const draw = useCallback((width: number) => panels(forests, width), [forests]);
  const arms = forests[0]?.rows.length ?? 0;
  if (forests.length < 2) return null;
  const figure = (
    <Figure
      title="At a glance"
      name={`${prefix}glance`}
      description={forests.map((forest) => `${forest.heading}: ${description(forest)}`).join(" ")}
      draw={draw}
      csv={() => forests.flatMap((forest, i) => rowsOf(forest).slice(i === 0 ? 0 : 1))}
      entries={entriesOf(forests)}
      height={arms * 18 + 60}
    >
      {forests.some(isCut) && CUT}
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
    heading.textContent = forest.heading;
    panel.append(heading, smallForest(forest, each));
    grid.append(panel);
  }
  return grid;
}

function filtered(forest: ForestData, filter: string): ForestData {
  const wanted = filter.trim().toLowerCase();
  if (!wanted) return forest;
  const isControl = (row: ForestData["rows"][number]) => row.mark === "control" || row.mark === "differs";
  return { ...forest, rows: forest.rows.filter((row) => isControl(row) || row.name.toLowerCase().includes(wanted)) };
}

/** The marks of all forests, each once. */
function entriesOf(forests: readonly ForestData[]): KeyEntry[] {
  const keys = new Map(forests.flatMap(({ key }) => key.map(({ mark, text }) => [mark, text])));
  const shapes: [mark: ForestData["key"][number]["mark"], shape: Shape][] = [
    ["control", "diamond"], ["differs", "diamond"], ["costs", "disc"], ["saves", "disc"],
    ["negligible", "disc"], ["inconclusive", "ring"], ["unjudged", "ring"], ["margin", "band"],
  ];
  return shapes.flatMap(([mark, shape]) => {
    const label = keys.get(mark);
    return label === undefined ? [] : [{ label, shape, colour: mark === "margin" ? colour.margin : ofMark(mark) }];
  });
}

function rowsOf(forest: ForestData): Field[][] {
  return [
    ["metric", "unit", "arm", "id", "estimate", "low", "high", "verdict"],
    ...forest.rows.map((row): Field[] => [
      forest.metric, forest.unit, row.name, row.arm, row.ends?.estimate ?? null, row.ends?.low ?? null, row.ends?.high ?? null, row.word,
    ]),
  ];
}
