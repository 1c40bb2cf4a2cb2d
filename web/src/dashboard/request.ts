import { useEffect, useState } from "preact/hooks";

import type { Embedded } from "../embedded";

/** The first answer, which came with the page; without one it is requested. */
export type First = { answer: unknown; error: string | null };

/** What the server sent with the page. */
export function first(own: Embedded | null): First {
  if (own?.kind !== "refusal") return { answer: own?.document ?? null, error: null };
  return { answer: null, error: (own.document as { error: string }).error };
}

/** The result of a request to the server. */
export type Asked<T> = { answer: T | null; error: string | null; ask: () => void };

/**
 * Sends a request when asked to, and at first if the page came without an answer; the last answer stays until
 * then. Only the first render's request is used: another request needs another component.
 */
export function useAnswer<T>(question: (signal: AbortSignal) => Promise<T>, sent: First): Asked<T> {
  const [state, setState] = useState<{ answer: T | null; error: string | null }>(sent as { answer: T | null; error: string | null });
  const [times, setTimes] = useState(sent.answer === null && sent.error === null ? 1 : 0);
  useEffect(() => {
    if (times === 0) return undefined;
    const ending = new AbortController();
    question(ending.signal).then(
      (answer) => setState({ answer, error: null }),
      (error: unknown) => {
        if (!ending.signal.aborted) setState(({ answer }) => ({ answer, error: inWords(error) }));
      },
    );
    return () => ending.abort();
  }, [times]);
  return { ...state, ask: () => setTimes((n) => n + 1) };
}

function inWords(error: unknown): string {
  if (error instanceof TypeError) return "windage serve does not answer; check that it is still running.";
  return error instanceof Error ? error.message : String(error);
}
