import { useEffect } from "preact/hooks";

import { COMPARISON_PAGE, type Caution, type ComparedLoad, type ComparedLoadView, type Comparison, type ComparisonDocument, type LoneArm } from "../comparison";
import { capitalised, oneLine } from "../figure/names";
import { RunName } from "../figure/run";
import { Pieces } from "../report/Answer";
import { Contents, follow } from "../report/Contents";
import { Facts } from "../report/Facts";
import { Message } from "../report/Message";
import { Block, Heading, Level } from "../report/section";
import { Table } from "../report/Table";
import { Folded } from "../report/Tables";
import { Tooltip } from "../report/Tooltip";
import { ChangePlot } from "./ChangePlot";
import { PlanDiff } from "./PlanDiff";

/** Two runs of one plan, the second held against the first. */
export function ComparisonReport({ document: shown }: { document: ComparisonDocument }) {
  const { comparison } = shown;
  useEffect(() => {
    window.document.title = `${comparison.a.run} and ${comparison.b.run} · windage`;
  }, [comparison.a.run, comparison.b.run]);
  if (shown.page > COMPARISON_PAGE) {
    return <Message title="This comparison is newer than this page" text="It is in a form that this page does not know. Make it again with one version of windage: windage compare A B --format html." />;
  }
  return (
    <RunName.Provider value={`${comparison.a.run}-${comparison.b.run}`}>
      <div class="page">
        <Contents of={shown} />
        <main>
          <header>
            <h1>{[...new Set([comparison.a.plan, comparison.b.plan].map(oneLine))].join(" and ")}: two runs compared</h1>
            <p class={`state ${SOUND[comparison.comparable]}`}>
              {asSentence(shown.heading)}
              {comparison.cautions.length > 0 && (
                <>
                  {" "}
                  <a href="#cautions" onClick={(event) => follow(event, "cautions")}>What speaks against comparing</a>
                </>
              )}
            </p>
            <Facts facts={shown.header} />
          </header>
          {comparison.comparable === "no" && <Cautions cautions={comparison.cautions} />}
          {shown.loads.map((view, i) => <OneLoad key={i} view={view} load={comparison.loads[i]} prefix={shown.loads.length > 1 ? `load${i + 1}-` : ""} />)}
          {comparison.comparable !== "no" && <Cautions cautions={comparison.cautions} />}
          <Lone title="Loads" a={comparison.only_in_a} b={comparison.only_in_b} />
          <Differences shown={shown} />
          {shown.closing.length > 0 && (
            <Block name="closing" title="Provenance" prefix="">
              <Facts facts={shown.closing} />
            </Block>
          )}
        </main>
      </div>
      <Tooltip />
    </RunName.Provider>
  );
}

/** How the colours of validity stand for comparability; the words are beside them. */
const SOUND: Record<Comparison["comparable"], string> = { yes: "valid", with_care: "suspect", no: "void" };

/** As a sentence by itself, where the terminal goes on after a colon. */
function asSentence(heading: string): string {
  return `${capitalised(heading).replace(/:$/, "")}.`;
}

function Cautions({ cautions }: { cautions: Caution[] }) {
  if (cautions.length === 0) return null;
  return (
    <Block name="cautions" title="What speaks against comparing" prefix="">
      {cautions.map((caution, i) => (
        <div key={i} class={`doubt ${caution.grave ? "void" : "suspect"}`}>
          <p>
            <code>{caution.code}</code> {caution.grave ? "(verdicts are withheld)" : "(with care)"}
            {caution.regime !== null && ` under ${oneLine(caution.regime)}`}
          </p>
          <p>{caution.text}</p>
        </div>
      ))}
    </Block>
  );
}

function OneLoad({ view, load, prefix }: { view: ComparedLoadView; load: ComparedLoad | undefined; prefix: string }) {
  const findings = (
    <>
      <div class={`answer ${load ? SOUND[load.comparable] : "void"}`}>
        {view.answer.map((sentence, i) => <p key={i}><Pieces sentence={sentence} /></p>)}
      </div>
      <Facts facts={view.facts} />
      {load && <ChangePlot load={load} prefix={prefix} />}
      <Tables view={view} prefix={prefix} />
      {load && <Lone title="Arms" a={load.only_in_a.map(named)} b={load.only_in_b.map(named)} />}
    </>
  );
  if (view.heading === null) return findings;
  const id = `${prefix}heading`;
  return (
    <section id={prefix.replace(/-$/, "")} class="load" aria-labelledby={id}>
      <Heading level={2} id={id}>{view.heading}</Heading>
      <Level.Provider value={3}>{findings}</Level.Provider>
    </section>
  );
}

const named = ({ id, name }: LoneArm) => oneLine(name === id ? name : `${name} (${id})`);

function Tables({ view: { tables, legend }, prefix }: { view: ComparedLoadView; prefix: string }) {
  if (tables.length === 0) return null;
  return (
    <Block name="figures" title="Figures" prefix={prefix}>
      <Folded tables={tables} legend={legend}>
        {(of) => of.map((table, i) => <Table key={i} table={table} prefix={prefix} of="arm" />)}
      </Folded>
    </Block>
  );
}

/** What only one of the runs has. */
function Lone({ title, a, b }: { title: string; a: string[]; b: string[] }) {
  if (a.length + b.length === 0) return null;
  const told = [[a, "A"] as const, [b, "B"] as const].filter(([names]) => names.length > 0);
  return <p class="note">{told.map(([names, run]) => `${title} only in ${run}: ${names.map(oneLine).join("; ")}.`).join(" ")}</p>;
}

function Differences({ shown: { differs, comparison } }: { shown: ComparisonDocument }) {
  if (differs.length === 0 && comparison.plan_diff === null) return null;
  return (
    <Block name="differs" title="What else differs" prefix="">
      {differs.map((table, i) => <Table key={i} table={table} of="what" />)}
      {comparison.plan_diff && <PlanDiff lines={comparison.plan_diff} />}
    </Block>
  );
}
