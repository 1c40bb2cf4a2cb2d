import { useEffect } from "preact/hooks";

import { COMPARISON_PAGE, type ComparedLoad, type ComparisonDocument } from "../comparison";
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

/** Two runs of one plan: the second compared with the first. */
export function ComparisonReport({ document: shown }: { document: ComparisonDocument }) {
  const { loads, verdict } = shown;
  const [a, b] = shown.runs ?? ["", ""];
  useEffect(() => {
    window.document.title = `${a} and ${b} · windage`;
  }, [a, b]);
  if (shown.page > COMPARISON_PAGE) {
    return <Message title="This comparison is newer than this page" text="Its format is unknown to this page. Make it again with one version of windage: windage compare A B --format html." />;
  }
  return (
    <RunName.Provider value={`${a}-${b}`}>
      <div class="page">
        <Contents of={shown} />
        <main>
          <header>
            <h1>{shown.title}</h1>
            <p class={`state ${verdict}`}>
              {shown.heading}
              {shown.warnings.length > 0 && (
                <>
                  {" "}
                  <a href="#warnings" onClick={(event) => follow(event, "warnings")}>Warnings about the comparison</a>
                </>
              )}
            </p>
            <Facts facts={shown.header} />
          </header>
          {verdict === "void" && <Warnings of={shown} />}
          {loads.map((load, i) => <OneLoad key={i} load={load} prefix={loads.length > 1 ? `load${i + 1}-` : ""} />)}
          {verdict !== "void" && <Warnings of={shown} />}
          <Differences of={shown} />
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

function Warnings({ of: { warnings } }: { of: ComparisonDocument }) {
  if (warnings.length === 0) return null;
  return (
    <Block name="warnings" title="Warnings about the comparison" prefix="">
      {warnings.map(({ code, verdict, effect, text }, i) => (
        <div key={i} class={`warning ${verdict}`}>
          <p>
            <code>{code}</code> ({effect})
          </p>
          <p>{text}</p>
        </div>
      ))}
    </Block>
  );
}

function OneLoad({ load, prefix }: { load: ComparedLoad; prefix: string }) {
  const findings = (
    <>
      <div class={`answer ${load.verdict}`}>
        {load.answer.map((sentence, i) => <p key={i}><Pieces sentence={sentence} /></p>)}
      </div>
      <Facts facts={load.facts} />
      <ChangePlot load={load} prefix={prefix} />
      <Tables load={load} prefix={prefix} />
    </>
  );
  if (load.heading === null) return findings;
  const id = `${prefix}heading`;
  return (
    <section id={prefix.replace(/-$/, "")} class="load" aria-labelledby={id}>
      <Heading level={2} id={id}>{load.heading}</Heading>
      <Level.Provider value={3}>{findings}</Level.Provider>
    </section>
  );
}

function Tables({ load: { tables, legend }, prefix }: { load: ComparedLoad; prefix: string }) {
  if (tables.length === 0) return null;
  return (
    <Block name="figures" title="Figures" prefix={prefix}>
      <Folded tables={tables} legend={legend}>
        {(of) => of.map((table, i) => <Table key={i} table={table} prefix={prefix} />)}
      </Folded>
    </Block>
  );
}

function Differences({ of: { differs, plan } }: { of: ComparisonDocument }) {
  if (differs.length === 0 && plan.length === 0) return null;
  return (
    <Block name="differs" title="Other differences" prefix="">
      {differs.map((table, i) => <Table key={i} table={table} />)}
      {plan.length > 0 && (
        <figure class="diff">
          <figcaption>The resolved plans: - is A, + is B</figcaption>
          <pre tabIndex={0} aria-label="Lines of the plans that differ">
            {plan.map(({ tag, text }, i) => <span key={i} class={tag}>{text}{"\n"}</span>)}
          </pre>
        </figure>
      )}
    </Block>
  );
}
