// The answers of `windage serve` (docs/FORMAT.md, "windage serve").

import type { Soundness } from "../analysis";
import type { ComparisonDocument } from "../comparison";
import type { PageDocument, RunState } from "../document";

/** The runs in a directory, the newest first. */
export interface RunList {
  runs: RunRow[];
  /** How many are still being read. */
  reading: number;
  /** The directory as given to the server. */
  directory: string;
}

/** One run in the list. */
export interface RunRow {
  name: string;
  plan: string | null;
  about: string | null;
  started: string | null;
  state: RunState;
  verdict: Soundness | null;
  answer: string | null;
  /** The primary metric. */
  primary: string | null;
  rounds: number | null;
  arms: number | null;
  /** The treatment with the highest cost in it, in words. */
  costs_most: { arm: string; figure: string; metric: string } | null;
  /** Why it can't be read. */
  problem: string | null;
}

/** The progress of a run. */
export interface RunProgress {
  state: RunState;
  /** Counted from 0. */
  round: number;
  rounds: number;
  blocks_done: number;
  blocks: number | null;
  windows: number;
  windows_void: number;
  lasts_s: number;
  left_s: number | null;
  events: { at_s: number; text: string }[];
}

/** Why there is no answer, in a sentence. */
export class Refused extends Error {}

async function get<T>(path: string, signal: AbortSignal): Promise<T> {
  const answer = await fetch(path, { signal, headers: { accept: "application/json" } });
  if (answer.ok) return (await answer.json()) as T;
  throw new Refused(await reason(answer));
}

async function reason(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // The answer has no error of the server's own: use the status.
  }
  return `windage serve answered ${answer.status} ${answer.statusText}`;
}

/** All runs. */
export const runs = (signal: AbortSignal) => get<RunList>("/api/runs", signal);

/** One run's document. */
export const page = (name: string, signal: AbortSignal) => get<PageDocument>(`${ofRun(name)}/page`, signal);

/** Two runs: the second compared with the first. */
export function comparison(a: string, b: string, signal: AbortSignal): Promise<ComparisonDocument> {
  const query = new URLSearchParams({ a, b });
  return get<ComparisonDocument>(`/api/compare?${query}`, signal);
}

/** The address of everything about a run. */
export const ofRun = (name: string) => `/api/runs/${encodeURIComponent(name)}`;
