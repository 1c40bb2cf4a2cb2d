// Events of the server. A browser keeps six connections to a server for all its tabs, and each that hears
// events holds one: a tab that nobody looks at lets go of it.

import { useEffect, useState } from "preact/hooks";

/** How the connection is: `lost` is being tried again, `ended` is not. */
export type Hearing = "fine" | "lost" | "ended";

/** Hears events while the page is looked at, as long as there is a path to hear them from. */
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
    // What is done with an event may be another function each time; what matters is where from.
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

/** What there is to say of a connection; nothing where it is fine. */
export function Connection({ hearing }: { hearing: Hearing }) {
  if (hearing === "fine") return null;
  const text =
    hearing === "lost"
      ? "windage serve does not answer at the moment; what is shown may be old. It is asked again by itself."
      : "windage serve sends no news any more; what is shown may be old. Reload the page to ask it again.";
  return <p role="status" class="alert">{text}</p>;
}
