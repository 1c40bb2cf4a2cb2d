// The answers of `windage serve` (docs/FORMAT.md, "windage serve").

import type { Soundness } from "../analysis";
import type { ComparisonDocument } from "../comparison";
import type { PageDocument, RunState } from "../document";
import type { Scale } from "../figure/format";

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

/** The course of results over runs. */
export interface HistoryDocument {
  /** The metric of all charts; null for each plan's first. */
  metric: string | null;
  /** Those that there are. */
  metrics: { name: string; label: string }[];
  charts: HistoryChart[];
  /** How many runs can't be read. */
  unreadable: number;
}

/** The arms of a plan under one load on one machine, in one metric. */
export interface HistoryChart {
  plan: string;
  /** Empty for a plan with only one. */
  load: string;
  machine: string;
  /** The metric's name within a sentence. */
  label: string;
  scale: Scale;
  arms: HistoryArm[];
}

export interface HistoryArm {
  arm: string;
  /** How many results there are. */
  runs: number;
  /** The newest of them, in order of time. */
  results: HistoryResult[];
  /** Changes of the level among these. */
  changes: { started: string; before: number; after: number; text: string; command: string | null }[];
}

/** What one run found. */
export interface HistoryResult {
  started: string;
  run: string;
  /** Shortened; empty if unknown. */
  commit: string;
  estimate: number;
  low: number | null;
  high: number | null;
  validity: Soundness;
  text: string;
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

/** The history of a metric, or of each plan's first. */
export function history(metric: string | null, signal: AbortSignal): Promise<HistoryDocument> {
  const query = metric === null ? "" : `?${new URLSearchParams({ metric })}`;
  return get<HistoryDocument>(`/api/history${query}`, signal);
}

/** One run's document. */
export const page = (name: string, signal: AbortSignal) => get<PageDocument>(`${ofRun(name)}/page`, signal);

/** Two runs: the second compared with the first. */
export function comparison(a: string, b: string, signal: AbortSignal): Promise<ComparisonDocument> {
  const query = new URLSearchParams({ a, b });
  return get<ComparisonDocument>(`/api/compare?${query}`, signal);
}

/** The address of everything about a run. */
export const ofRun = (name: string) => `/api/runs/${encodeURIComponent(name)}`;
