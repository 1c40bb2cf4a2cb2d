import type { ComponentChild } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { UnderLoad } from "../analysis";
import { type LoadView, PAGE, type PageDocument, type RunState } from "../document";
import { RunName, Stamp } from "../figure/run";
import { Absent } from "./Absent";
import { Answer } from "./Answer";
import { BillSection } from "./BillSection";
import { ByRateFigure } from "./ByRate";
import { Choosing } from "./charts/chosen";
import { Contents, follow } from "./Contents";
import { Curves } from "./Curves";
import { Facts, Marked } from "./Facts";
import { FidelitySection } from "./FidelitySection";
import { Flames } from "./Flames";
import { Forest } from "./Forest";
import { Guard } from "./Guard";
import { LatencySection } from "./LatencySection";
import { Message } from "./Message";
import { presentable } from "./presentable";
import { Provenance } from "./Provenance";
import { ScatterSection } from "./ScatterSection";
import { Block, Heading, Level, type SectionProps } from "./section";
import { ArmNames, Table } from "./Table";
import { AllTables, PrimaryTable } from "./Tables";
import { TimeSeriesSection } from "./TimeSeriesSection";
import { Tooltip } from "./Tooltip";
import { Validity } from "./Validity";

/** A run, from the answer to the provenance. */
export function Report({ document: given }: { document: PageDocument }) {
  if (given.page > PAGE) return <TooNew version={given.analysis?.windage ?? "a later version"} />;
  return <Run given={given} />;
}

function Run({ given }: { given: PageDocument }) {
  const run = useMemo(() => presentable(given), [given]);
  const { analysis, loads } = run;
  const names = useMemo(() => new Set(analysis.arms.map((arm) => arm.name)), [analysis]);
  useEffect(() => {
    window.document.title = `${analysis.plan} · windage`;
  }, [analysis.plan]);
  return (
    <RunName.Provider value={run.directory}>
      <ArmNames.Provider value={names}>
        <a class="skip" href="#answer" onClick={(event) => follow(event, "answer")}>Skip to the answer</a>
        <div class="page">
          <Contents of={run} />
          <main>
            <Head document={run} />
            {loads.length > 1
              ? loads.map((load, i) => <OneOfSeveral key={i} document={run} load={load} index={i} />)
              : loads.map((load, i) => <Findings key={i} document={run} load={load} under={underOf(run, i)} prefix="" />)}
            <ByRate document={run} />
            <OwnCost document={run} />
            <Provenance document={run} />
          </main>
        </div>
        <Tooltip />
      </ArmNames.Provider>
    </RunName.Provider>
  );
}

function Head({ document: run }: { document: PageDocument }) {
  const { analysis, header, state, loads } = run;
  const [load] = loads;
  return (
    <header>
      <h1>{analysis.plan}</h1>
      {analysis.about && <p class="about">{analysis.about}</p>}
      {STATES[state] && <p class={`state ${state}`} role="status">{STATES[state]}</p>}
      {loads.length === 1 && load && <Answer load={load} prefix="" id="answer" />}
      <Facts facts={header} />
    </header>
  );
}

/** What is to be known of a run that did not end by itself. */
const STATES: Record<RunState, string> = {
  going_on: "This run is still going on: figures are those up to now.",
  ended: "",
  broken_off: "This run broke off before its end: what it measured until then is shown.",
};

function OneOfSeveral({ document: run, load, index }: { document: PageDocument; load: LoadView; index: number }) {
  const prefix = `load${index + 1}-`;
  const id = `${prefix}heading`;
  const under = underOf(run, index);
  const [name, rest] = parted(load.heading ?? `Load ${index + 1}`, under.regime);
  return (
    <section id={`load${index + 1}`} class="load" aria-labelledby={id}>
      <Heading level={2} id={id}>{name}</Heading>
      {rest && <p class="about"><Marked text={rest} /></p>}
      <Answer load={load} prefix={prefix} id={index === 0 ? "answer" : undefined} />
      <Facts facts={load.facts} />
      <Level.Provider value={3}>
        <Findings document={run} load={load} under={under} prefix={prefix} />
      </Level.Provider>
    </section>
  );
}

/** The load's name, and what it is. */
function parted(heading: string, name: string | null): [name: string, rest: string] {
  const start = `${name}: `;
  return name && heading.startsWith(start) ? [name, heading.slice(start.length)] : [heading, ""];
}

/** All about one load. */
function Findings(props: SectionProps) {
  const isVoid = props.load.validity.verdict === "void";
  return (
    <Stamp.Provider value={isVoid ? "void" : null}>
      <Choosing>
        <div class={isVoid ? "findings is-void" : "findings"}>
          {SECTIONS.map((Section, i) => (
            <Guard key={i} of={props.load} instead={(problem) => <p class="note">A part of this report can’t be shown: {problem}</p>}>
              <Section {...props} />
            </Guard>
          ))}
        </div>
      </Choosing>
    </Stamp.Provider>
  );
}

const SECTIONS: ((props: SectionProps) => ComponentChild)[] = [
  Forest,
  PrimaryTable,
  Absent,
  Curves,
  LatencySection,
  BillSection,
  FidelitySection,
  TimeSeriesSection,
  ScatterSection,
  AllTables,
  Validity,
  Flames,
];

function ByRate({ document: run }: { document: PageDocument }) {
  if (!run.by_rate) return null;
  return (
    <Block name="by-rate" title="Against the rate" prefix="">
      <Choosing>
        <ByRateFigure document={run} />
      </Choosing>
      <Table table={run.by_rate} />
    </Block>
  );
}

function OwnCost({ document: run }: { document: PageDocument }) {
  if (run.own_cost.length === 0) return null;
  return (
    <Block name="own-cost" title="What windage itself used" prefix="">
      <Facts facts={run.own_cost} />
    </Block>
  );
}

function TooNew({ version }: { version: string }) {
  return (
    <Message
      title="This report is newer than this page"
      text={`The run was written by windage ${version}, in a form that this page does not know. Show it with that version or a later one: windage report RUN --format html.`}
    />
  );
}

/** The first load is the analysis itself, the others follow in it. */
function underOf(run: PageDocument, index: number): UnderLoad {
  return run.analysis.further[index - 1] ?? run.analysis;
}
