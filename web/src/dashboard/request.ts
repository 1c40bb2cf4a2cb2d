import { useEffect, useState } from "preact/hooks";

/** What became of a question to the server. */
export type Asked<T> = { answer: T | null; error: string | null; ask: () => void };

/**
 * Asks, and asks again when it is told to; until then the answer before stays. The question is that of the
 * first time: what is about something else is to be another component.
 */
export function useAnswer<T>(question: (signal: AbortSignal) => Promise<T>): Asked<T> {
  const [told, setTold] = useState<{ answer: T | null; error: string | null }>({ answer: null, error: null });
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    question(ending.signal).then(
      (answer) => setTold({ answer, error: null }),
      (error: unknown) => {
        if (!ending.signal.aborted) setTold(({ answer }) => ({ answer, error: inWords(error) }));
      },
    );
    return () => ending.abort();
  }, [times]);
  return { ...told, ask: () => setTimes((n) => n + 1) };
}

function inWords(error: unknown): string {
  if (error instanceof TypeError) return "windage serve does not answer; is it still running?";
  return error instanceof Error ? error.message : String(error);
}
