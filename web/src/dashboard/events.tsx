// Events of the server. It answers with what is new and ends; the browser asks again after a while, with what
// it knows. A hidden tab does not ask.

import { useEffect, useState } from "preact/hooks";

/** The state of the connection: `lost` is retried, `ended` is not. */
export type Hearing = "fine" | "lost" | "ended";

/** Listens to events while the page is visible and there is a path. */
export function useEvents(path: string | null, heard: Record<string, (data: string) => void>): Hearing {
  const [hearing, setHearing] = useState<Hearing>("fine");
  useEffect(() => {
    setHearing("fine");
    if (path === null) return undefined;
    let source: EventSource | null = null;
    const close = () => {
      source?.close();
      source = null;
    };
    const follow = () => {
      if (document.hidden) return close();
      source ??= listen(path, heard, setHearing);
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      close();
    };
    // The handler may be a new function on each rendering; only a new path needs a new connection.
  }, [path]);
  return hearing;
}

function listen(path: string, heard: Record<string, (data: string) => void>, tell: (hearing: Hearing) => void): EventSource {
  const source = new EventSource(path);
  let isAnswered = false;
  source.addEventListener("open", () => {
    isAnswered = true;
    tell("fine");
  });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) tell("ended");
    // The end of an answer is no loss.
    else if (!isAnswered) tell("lost");
    isAnswered = false;
  });
  for (const [name, take] of Object.entries(heard)) {
    source.addEventListener(name, (event) => take((event as MessageEvent<string>).data));
  }
  return source;
}

/** A message about the connection; null if it works. */
export function Connection({ hearing }: { hearing: Hearing }) {
  if (hearing === "fine") return null;
  const text =
    hearing === "lost"
      ? "windage serve does not answer at the moment; this page may be out of date. It retries automatically."
      : "windage serve no longer sends updates; this page may be out of date. Reload it to try again.";
  return <p role="status" class="alert">{text}</p>;
}
