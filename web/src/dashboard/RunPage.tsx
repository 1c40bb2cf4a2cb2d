import { useState } from "preact/hooks";

import { oneLine } from "../figure/names";
import { Report } from "../report/Report";
import { type RunProgress, ofRun, page } from "./api";
import { type First, useAnswer } from "./request";
import { Connection, useEvents } from "./events";
import { Progress } from "./Progress";
import { Instead, Trail } from "./Trail";

/** One run: its report, and its progress while it is measured. */
export function RunPage({ name, first }: { name: string; first: First }) {
  const { answer, error, ask } = useAnswer((signal) => page(name, signal), first);
  const [progress, setProgress] = useState<RunProgress | null>(null);
  const isGoingOn = answer?.state === "going_on";
  // The server sends the last news of an ended run once; later requests get none.
  const hearing = useEvents(isGoingOn ? `${ofRun(name)}/events` : null, {
    progress: (data) => setProgress(JSON.parse(data) as RunProgress),
    page: ask,
  });
  return (
    <>
      <Trail>
        <a href={`${ofRun(name)}/report.html`} download={`${name.replaceAll("/", "-")}.html`}>Report as a file</a>
        <a href={`${ofRun(name)}/analysis.json`}>analysis.json</a>
      </Trail>
      {isGoingOn && <Connection hearing={hearing} />}
      {isGoingOn && progress && <Progress progress={progress} />}
      {error && answer && <p role="alert" class="alert">{error}</p>}
      {answer ? <Report document={answer} /> : <Instead error={error} waiting={`Reading ${oneLine(name)} …`} />}
    </>
  );
}
