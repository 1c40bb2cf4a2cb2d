// Events of the server. A browser opens at most six connections to a server over all its tabs, and each event
// stream takes one, so a hidden tab closes its stream.

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
  source.addEventListener("open", () => tell("fine"));
  source.addEventListener("error", () => tell(source.readyState === EventSource.CLOSED ? "ended" : "lost"));
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
