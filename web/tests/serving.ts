// `windage serve` over the invented runs, and a run that goes on among them.

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { test as base } from "./page";
import { WINDAGE, runs } from "./runs";

/** The dashboard while it is there. */
export interface Served {
  /** The page's address. */
  url: string;
  /** The directory of its runs, a copy. */
  directory: string;
}

/** Tests of the dashboard: no request may go to anybody but its server. */
export const test = base.extend<object, { served: Served }>({
  served: [
    async ({}, use) => {
      const directory = join(mkdtempSync(join(tmpdir(), "windage-serve-")), "runs");
      cpSync(runs(), directory, { recursive: true });
      const server = spawn(WINDAGE, ["serve", directory, "--listen", "127.0.0.1:0", "--json", "--quiet"], { stdio: ["ignore", "pipe", "inherit"] });
      const { url } = JSON.parse(await told(server)) as { url: string };
      await use({ url, directory });
      await ended(server);
      rmSync(join(directory, ".."), { recursive: true });
    },
    { scope: "worker", timeout: 60_000 },
  ],
  allowed: async ({ served }, use) => {
    await use(new RegExp(`^(${served.url.replaceAll(".", "\\.")}|data:|blob:)`));
  },
});

/** A small run of the built-in service, begun in `directory`. */
export function begun(directory: string, name: string): ChildProcess {
  return spawn(WINDAGE, ["demo", "--for", "20s", "--out", join(directory, name), "--quiet"], { stdio: "ignore" });
}

/** Ends a process and waits until it is gone. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await gone;
}

/** The JSON document that a server prints once it answers. */
async function told(server: ChildProcess): Promise<string> {
  let text = "";
  for await (const part of server.stdout ?? []) {
    text += String(part);
    if (text.trimEnd().endsWith("}")) break;
  }
  return text;
}
