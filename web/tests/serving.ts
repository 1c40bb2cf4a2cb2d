// `windage serve` over the invented runs, with a run in progress among them.

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { RunList } from "../src/dashboard/api";
import { test as base } from "./page";
import { WINDAGE, runs, windage } from "./runs";

/** A running dashboard. */
export interface Served {
  /** The address of a page, such as `/`, with the token. */
  at: (path: string) => string;
  /** The beginning of all its addresses. */
  origin: string;
  /** The directory of its runs, a copy. */
  directory: string;
}

/** Begins a run in the directory of runs, under a unique name. */
type Begin = (name: string) => ChildProcess;

/** Tests of the dashboard: requests may go only to its server. */
export const test = base.extend<{ begin: Begin }, { served: Served }>({
  served: [
    async ({}, use) => {
      const directory = join(mkdtempSync(join(tmpdir(), "windage-serve-")), "runs");
      cpSync(runs(), directory, { recursive: true });
      remember(directory);
      const server = spawn(WINDAGE, ["serve", directory, "--listen", "127.0.0.1:0", "--json", "--quiet"], { stdio: ["ignore", "pipe", "inherit"] });
      try {
        const { origin, search } = new URL((JSON.parse(await firstJson(server)) as { url: string }).url);
        const at = (path: string) => origin + path + search;
        await allRead(at("/api/runs"), directory);
        await use({ at, origin, directory });
      } finally {
        await ended(server);
        rmSync(join(directory, ".."), { recursive: true });
      }
    },
    { scope: "worker", timeout: 300_000 },
  ],
  // Small runs of the built-in service, longer than any test. They are ended after their test, even if it
  // timed out.
  begin: [
    async ({ served: { directory } }, use) => {
      const begun: { run: ChildProcess; path: string }[] = [];
      await use((name) => {
        const path = join(directory, name);
        const run = spawn(WINDAGE, ["demo", "--for", "10m", "--out", path, "--quiet"], { stdio: "ignore" });
        begun.push({ run, path });
        return run;
      });
      for (const { run, path } of begun) {
        await ended(run);
        rmSync(path, { recursive: true, force: true });
      }
    },
    { timeout: 120_000 },
  ],
  allowed: async ({ served }, use) => {
    await use(new RegExp(`^(${served.origin.replaceAll(".", "\\.")}|data:|blob:)`));
  },
});

/** Gives a directory the results of runs that are gone: two arms over 40 days, of which one steps up on the 28th. */
function remember(directory: string): void {
  const columns = "plan,regime,arm,metric,started,run,commit,machine,windage,unit,estimate,low,high,launches,validity,is_primary";
  const rows = Array.from({ length: 40 }, (_, day) =>
    (["otel", "zipkin"] as const).map((arm) => {
      const level = arm === "zipkin" ? 0.061 : day < 28 ? 0.084 : 0.112;
      const estimate = level + (((day * 7) % 5) - 2) / 1000;
      const started = new Date(Date.UTC(2026, 0, 1 + day)).toISOString().replace(".000", "");
      const commit = `${String(day).padStart(2, "0")}3456789abc`;
      const found = [estimate, estimate - 0.008, estimate + 0.008].map((share) => share.toFixed(4));
      const validity = day % 13 === 5 ? "suspect" : "valid";
      return ["shop", "", arm, "cpu_per_request", started, `run-${day}`, commit, "6502; 2 cores", "0.1.0", "share", ...found, 14, validity, true].join(",");
    }),
  );
  const file = join(directory, "..", "history.csv");
  writeFileSync(file, [columns, ...rows.flat(), ""].join("\n"));
  windage("history", directory, "--import", file);
}

/** Asks a process to end and waits for that; returns its status. */
export async function asked(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }
  return child.exitCode;
}

/** Ends a process and waits for that. One that does not react is killed, which is an error. */
async function ended(child: ChildProcess): Promise<void> {
  const patience = setTimeout(() => child.kill("SIGKILL"), 60_000);
  await asked(child, "SIGTERM");
  clearTimeout(patience);
  if (child.signalCode === "SIGKILL") throw new Error(`${child.spawnargs.join(" ")} did not end when it was asked to`);
}

/** Waits until the server has read every run of its directory, however long a busy machine takes. */
async function allRead(list: string, directory: string): Promise<void> {
  const count = readdirSync(directory).filter((name) => existsSync(join(directory, name, "manifest.json"))).length;
  const until = performance.now() + 180_000;
  for (;;) {
    const { runs: listed, reading } = (await (await fetch(list)).json()) as RunList;
    if (reading === 0 && listed.length === count) return;
    if (performance.now() > until) throw new Error(`${listed.length} of ${count} runs are listed, and ${reading} still being read`);
    await sleep(250);
  }
}

/** The JSON document that a server prints once it is ready. */
async function firstJson(server: ChildProcess): Promise<string> {
  let text = "";
  for await (const part of server.stdout ?? []) {
    text += String(part);
    if (text.trimEnd().endsWith("}")) break;
  }
  return text;
}
