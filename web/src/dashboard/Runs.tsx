import { useEffect, useState } from "preact/hooks";

import { oneLine } from "../figure/names";
import { Badge } from "../report/Badge";
import { type RunRow, runs } from "./api";
import { type First, useAnswer } from "./request";
import { Choice, type Chosen, NOTHING, choose } from "./choosing";
import { Connection, useEvents } from "./events";
import { address } from "./route";
import { Instead } from "./Trail";

/** All runs of the directory, to open one or to compare two. */
export function Runs({ first }: { first: First }) {
  const { answer, error, ask } = useAnswer(runs, first);
  const [sought, setSought] = useState("");
  const [chosen, setChosen] = useState<Chosen>(NOTHING);
  const hearing = useEvents("/api/events", { runs: ask });
  useEffect(() => {
    document.title = "Runs · windage";
  }, []);
  if (!answer) return <Instead error={error} waiting="Looking for runs …" />;
  const found = answer.runs.filter((run) => isSought(run, sought));
  return (
    <main class="runs">
      <h1>Runs</h1>
      <p>
        {answer.runs.length} in <code>{answer.directory}</code>
        {answer.reading > 0 && <span role="status">; {answer.reading} are still being read</span>}
      </p>
      <p><a href={address({ page: "history", metric: null })}>History of results</a></p>
      {error && <p role="alert" class="alert">{error}</p>}
      <Connection hearing={error ? "fine" : hearing} />
      {answer.runs.length === 0 ? (
        <p>There are no runs yet. <code>windage demo</code> makes one in about a minute.</p>
      ) : (
        <>
          <div class="controls">
            <label>
              Find{" "}
              <input type="search" value={sought} placeholder="plan, name or words" onInput={(e) => setSought(e.currentTarget.value)} />
            </label>
            <Choice chosen={chosen} onClear={() => setChosen(NOTHING)} />
          </div>
          <List runs={found} chosen={chosen} onChoose={(name) => setChosen(choose(chosen, name))} />
          {found.length === 0 && <p role="status">No run has “{sought}” in it.</p>}
        </>
      )}
    </main>
  );
}

function isSought(run: RunRow, sought: string): boolean {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [run.name, run.plan, run.about, run.answer, run.started, run.verdict, run.state].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function List({ runs, chosen, onChoose }: { runs: RunRow[]; chosen: Chosen; onChoose: (name: string) => void }) {
  return (
    <div class="scroll" role="region" tabIndex={0} aria-label="Runs, the newest first">
      {/* Explicit roles, because on narrow screens the style sheet changes the display of table elements. */}
      <table class="list" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {["Compare", "Run", "When (UTC)", "State", "Costs most"].map((heading) => <th key={heading} scope="col" role="columnheader">{heading}</th>)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {runs.map((run) => (
            <Line key={run.name} run={run} isChosen={run.name === chosen.a || run.name === chosen.b} onChoose={onChoose} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ run, isChosen, onChoose }: { run: RunRow; isChosen: boolean; onChoose: (name: string) => void }) {
  return (
    <tr role="row">
      <td role="cell">
        <input
          type="checkbox"
          aria-label={`Compare ${oneLine(run.name)}`}
          checked={isChosen}
          disabled={run.problem !== null}
          onChange={() => onChoose(run.name)}
        />
      </td>
      <th scope="row" role="rowheader">
        {run.problem === null ? <a href={address({ page: "run", name: run.name })}>{nameOf(run)}</a> : nameOf(run)}
        {nameOf(run) !== oneLine(run.name) && <span class="soft name">{oneLine(run.name)}</span>}
        {run.problem !== null && <span class="problem">can’t be read: {oneLine(run.problem)}</span>}
      </th>
      <td role="cell">{run.started ? <time dateTime={run.started}>{run.started.replace("T", " ").replace(/(:\d\d)(\.\d+)?Z$/, "$1")}</time> : "n/a"}</td>
      <td role="cell"><State run={run} /></td>
      <td role="cell"><CostsMost run={run} /></td>
    </tr>
  );
}

function nameOf(run: RunRow): string {
  return oneLine(run.plan ?? "") || oneLine(run.name);
}

function State({ run }: { run: RunRow }) {
  if (run.problem !== null) return <>unreadable</>;
  if (run.state === "going_on") return <>in progress</>;
  return (
    <>
      {run.verdict ? <Badge verdict={run.verdict} /> : "n/a"}
      {run.state === "broken_off" && <span class="soft name">broke off</span>}
    </>
  );
}

/** The result of most interest: the highest cost. */
function CostsMost({ run: { costs_most: found } }: { run: RunRow }) {
  if (!found) return <>n/a</>;
  return (
    <>
      {oneLine(found.arm)} <span class="figure">{found.figure}</span>
      <span class="soft name">{found.metric}</span>
    </>
  );
}
