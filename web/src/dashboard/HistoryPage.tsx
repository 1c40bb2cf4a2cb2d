import { useEffect } from "preact/hooks";

import { oneLine } from "../figure/names";
import { RunName } from "../figure/run";
import { Table } from "../report/Table";
import { Tooltip } from "../report/Tooltip";
import { type HistoryChart, history } from "./api";
import { useEvents } from "./events";
import { HistoryFigure } from "./HistoryFigure";
import { newest } from "./history";
import { type First, useAnswer } from "./request";
import { address } from "./route";
import { Instead, Trail } from "./Trail";

/** The course of results over the runs of the directory, for each plan, load and machine. */
export function HistoryPage({ metric, first }: { metric: string | null; first: First }) {
  const { answer, error, ask } = useAnswer((signal) => history(metric, signal), first);
  useEvents("/api/events", { runs: ask });
  useEffect(() => {
    document.title = "History · windage";
  }, []);
  if (!answer) {
    return (
      <>
        <Trail />
        <Instead error={error} waiting="Reading runs …" />
      </>
    );
  }
  return (
    <RunName.Provider value="history">
      <Trail />
      <main class="runs">
        <h1>History</h1>
        {error && <p role="alert" class="alert">{error}</p>}
        {answer.unreadable > 0 && <p role="alert" class="alert">{answer.unreadable} runs can’t be read and are left out: windage history names them.</p>}
        {answer.metrics.length > 0 && <MetricLinks metrics={answer.metrics} shown={answer.metric} />}
        {answer.charts.length === 0 && (
          <p>
            {answer.metric === null || answer.metrics.length === 0
              ? "There are no results yet: they are read from each run’s analysis.json, which windage run writes at its end."
              : `No result has the metric “${oneLine(answer.metric)}”.`}
          </p>
        )}
        {answer.charts.map((chart, place) => <OnePlace key={place} chart={chart} />)}
      </main>
      <Tooltip />
    </RunName.Provider>
  );
}

/** Every metric is a page of its own. */
function MetricLinks({ metrics, shown }: { metrics: readonly { name: string; label: string }[]; shown: string | null }) {
  return (
    <div class="controls">
      <label>
        Metric{" "}
        <select
          value={shown ?? ""}
          onChange={(event) => location.assign(address({ page: "history", metric: event.currentTarget.value || null }))}
        >
          <option value="">each plan’s first</option>
          {metrics.map(({ name, label }) => <option key={name} value={name}>{oneLine(label)}</option>)}
        </select>
      </label>
    </div>
  );
}

/** The results of one plan under one load on one machine. */
function OnePlace({ chart }: { chart: HistoryChart }) {
  const changes = chart.arms.flatMap((arm) => arm.changes);
  return (
    <section class="block">
      <h2>{oneLine(chart.plan)}{chart.load !== "" && `, load ${oneLine(chart.load)}`}</h2>
      <p class="soft">{oneLine(chart.machine)}</p>
      <HistoryFigure chart={chart} />
      {changes.length > 0 && (
        <ul class="changes">
          {changes.map((change) => (
            <li key={change.text}>
              {oneLine(change.text)}
              {change.command !== null && <> · to measure both at once: <code>{oneLine(change.command)}</code></>}
            </li>
          ))}
        </ul>
      )}
      <Table table={newest(chart)} />
    </section>
  );
}
