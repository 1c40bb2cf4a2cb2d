import { useEffect, useState } from "preact/hooks";

/** The result of a request to the server. */
export type Asked<T> = { answer: T | null; error: string | null; ask: () => void };

/**
 * Sends a request, and repeats it on demand; the last answer stays until then. Only the first render's
 * request is used: another request needs another component.
 */
export function useAnswer<T>(question: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [state, setState] = useState<{ answer: T | null; error: string | null }>({ answer: null, error: null });
  const [times, setTimes] = useState(0);
  useEffect(() => {
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
