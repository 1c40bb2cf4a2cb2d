// What `windage serve` answers (docs/FORMAT.md, "windage serve").

import type { Soundness } from "../analysis";
import type { ComparisonDocument } from "../comparison";
import type { PageDocument, RunState } from "../document";

/** The runs in a directory, the newest first. */
export interface RunList {
  runs: RunRow[];
  /** How many are still being read. */
  reading: number;
  /** The directory, as the server was told. */
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
  /** The treatment that costs most in it, in words. */
  costs_most: { arm: string; figure: string; metric: string } | null;
  /** Why it can't be read. */
  problem: string | null;
}

/** How far a run is. */
export interface RunProgress {
  state: RunState;
  /** From 0. */
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
    // Not the server's own words: the status has to do.
  }
  return `windage serve answered ${answer.status} ${answer.statusText}`;
}

/** All runs. */
export const runs = (signal: AbortSignal) => get<RunList>("/api/runs", signal);

/** One run's document. */
export const page = (name: string, signal: AbortSignal) => get<PageDocument>(`${ofRun(name)}/page`, signal);

/** Two runs, the second held against the first. */
export function comparison(a: string, b: string, signal: AbortSignal): Promise<ComparisonDocument> {
  const query = new URLSearchParams({ a, b });
  return get<ComparisonDocument>(`/api/compare?${query}`, signal);
}

/** Where everything about a run is. */
export const ofRun = (name: string) => `/api/runs/${encodeURIComponent(name)}`;
