import type { ComponentChild } from "preact";
import { useEffect } from "preact/hooks";

import type { UnderLoad } from "../analysis";
import { type LoadView, PAGE, type PageDocument } from "../document";
import { RunName, Stamp } from "../figure/run";
import { Absent } from "./Absent";
import { Answer } from "./Answer";
import { BillSection, ServicesSection } from "./BillSection";
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
import { Provenance } from "./Provenance";
import { ScatterSection } from "./ScatterSection";
import { Block, Heading, Level, type SectionProps } from "./section";
import { Table } from "./Table";
import { AllTables, PrimaryTable } from "./Tables";
import { TimeSeriesSection } from "./TimeSeriesSection";
import { Tooltip } from "./Tooltip";
import { Validity } from "./Validity";

/** A run, from the answer to the provenance. */
export function Report({ document: run }: { document: PageDocument }) {
  if (run.page > PAGE) return <TooNew version={run.analysis?.windage ?? "a later version"} />;
  return <Run run={run} />;
}

function Run({ run }: { run: PageDocument }) {
  const { loads } = run;
  useEffect(() => {
    window.document.title = `${run.plan} · windage`;
  }, [run.plan]);
  return (
    <RunName.Provider value={run.directory}>
      <a class="skip" href="#answer" onClick={(event) => follow(event, "answer")}>Skip to the answer</a>
      <div class="page">
        <Contents of={run} />
        <main>
          <Head run={run} />
          {loads.length > 1
            ? loads.map((load, i) => <OneOfSeveral key={i} run={run} load={load} index={i} />)
            : loads.map((load, i) => <Findings key={i} document={run} load={load} under={underOf(run, i)} prefix="" />)}
          <ByRate document={run} />
          <OwnCost document={run} />
          <Provenance document={run} />
        </main>
      </div>
      <Tooltip />
    </RunName.Provider>
  );
}

function Head({ run: { plan, about, header, state, state_text: note, loads } }: { run: PageDocument }) {
  const [load] = loads;
  return (
    <header>
      <h1>{plan}</h1>
      {about && <p class="about">{about}</p>}
      {note && <p class={`state ${state}`} role="status">{note}</p>}
      {loads.length === 1 && load && <Answer load={load} prefix="" id="answer" />}
      <Facts facts={header} />
    </header>
  );
}

function OneOfSeveral({ run, load, index }: { run: PageDocument; load: LoadView; index: number }) {
  const prefix = `load${index + 1}-`;
  const id = `${prefix}heading`;
  return (
    <section id={`load${index + 1}`} class="load" aria-labelledby={id}>
      <Heading level={2} id={id}>{load.name}</Heading>
      {load.load && <p class="about"><Marked text={load.load} /></p>}
      <Answer load={load} prefix={prefix} id={index === 0 ? "answer" : undefined} />
      <Facts facts={load.facts} />
      <Level.Provider value={3}>
        <Findings document={run} load={load} under={underOf(run, index)} prefix={prefix} />
      </Level.Provider>
    </section>
  );
}

/** Everything about one load. */
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
  ServicesSection,
  BillSection,
  FidelitySection,
  TimeSeriesSection,
  ScatterSection,
  AllTables,
  Validity,
  Flames,
];

function ByRate({ document: run }: { document: PageDocument }) {
  const [load] = run.loads;
  if (!run.by_rate || !load) return null;
  return (
    <Block name="by-rate" title="By rate" prefix="">
      <Choosing>
        <ByRateFigure document={run} load={load} />
      </Choosing>
      <Table table={run.by_rate} />
    </Block>
  );
}

function OwnCost({ document: run }: { document: PageDocument }) {
  if (run.own_cost.length === 0) return null;
  return (
    <Block name="own-cost" title="Windage's own cost" prefix="">
      <Facts facts={run.own_cost} />
    </Block>
  );
}

function TooNew({ version }: { version: string }) {
  return (
    <Message
      title="This report is newer than this page"
      text={`The run was written by windage ${version}, in a format that this page does not know. Show it with that version or a later one: windage report RUN --format html.`}
    />
  );
}

/** The first load is the analysis itself; the others are in it. */
function underOf(run: PageDocument, index: number): UnderLoad {
  return run.analysis.other_loads[index - 1] ?? run.analysis;
}
