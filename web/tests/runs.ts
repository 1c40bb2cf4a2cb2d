// The test data: invented runs of every kind (crates/windage-record/examples/showcase), and the pages that
// the binary makes of them.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const BUILT = join(process.env["CARGO_TARGET_DIR"] ?? join(ROOT, "target"), "debug");

/** The binary, built from the present sources. */
export const WINDAGE = join(BUILT, "windage");

/** The folder of the invented runs, during a test. */
export const runs = () => process.env["WINDAGE_SHOWCASE"] ?? "";

/** The folder of the pages, during a test. */
export const pages = () => process.env["WINDAGE_PAGES"] ?? "";

/** The address of a page, during a test: `sweep` for the first run whose name ends with it, `comparison` for that of `TWICE`. */
export const pageOf = (name: string) => `file://${join(pages(), `${name}.html`)}`;

/** Runs the binary and returns its output. */
export function windage(...words: string[]): string {
  return execFileSync(WINDAGE, words, { encoding: "utf8", maxBuffer: 64 << 20, stdio: ["ignore", "pipe", "pipe"] });
}

/** The directory of the first run whose name ends with this. */
export function runNamed(name: string): string {
  const found = readdirSync(runs()).sort().find((run) => run.endsWith(`-${name}`));
  if (!found) throw new Error(`no invented run is called ${name}`);
  return join(runs(), found);
}

/** Two runs of one plan: the second has a higher cost and another kernel. */
export const TWICE = ["20260105-090000-sweep", "20260112-090000-sweep"] as const;

type Share = { relative: { estimate: number; low: number; high: number } | null };

/** The part of `windage compare --json` that tests read. */
export interface Compared {
  comparable: string;
  warnings: { code: string; text: string }[];
  loads: { primary: string; arms: { name: string; role: string; metrics: Record<string, { a: Share; b: Share; change: Share | null; verdict: string | null }> }[] }[];
}

/** The command line's comparison of the two. */
export function compared(): Compared {
  const [a, b] = TWICE;
  return JSON.parse(windage("compare", join(runs(), a), join(runs(), b), "--json")) as Compared;
}

/** The part of `windage report --json` that tests read. */
export interface Analysed {
  primary: string;
  other_loads: unknown[];
  arms: { name: string; role: string; metrics: Record<string, Share> }[];
}

/** The command line's analysis of a run. */
export const analysed = (name: string) => JSON.parse(windage("report", runNamed(name), "--json")) as Analysed;

/** Makes the runs and their pages, once for all tests, and returns a function that removes them. */
export default function make(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "windage-page-"));
  // The folder in which the binary would look for this machine's calibration: pages must not quote one.
  process.env["XDG_STATE_HOME"] = folder;
  process.env["WINDAGE_SHOWCASE"] = join(folder, "runs");
  process.env["WINDAGE_PAGES"] = folder;
  // With the same options as `cargo xtask test`, so that nothing is compiled twice.
  execFileSync("cargo", ["build", "--locked", "--quiet", "--workspace", "--all-features", "--bin", "windage", "--example", "showcase"], { cwd: ROOT, stdio: "inherit" });
  execFileSync(join(BUILT, "examples/showcase"), [runs()], { stdio: "inherit" });
  for (const run of readdirSync(runs()).sort().reverse()) {
    const name = run.split("-").at(-1) ?? run;
    if (name === "run" || name === "damaged") continue;
    windage("report", join(runs(), run), "--format", "html", "-o", join(folder, `${name}.html`));
  }
  const [a, b] = TWICE;
  windage("compare", join(runs(), a), join(runs(), b), "--format", "html", "-o", join(folder, "comparison.html"));
  return () => rmSync(folder, { recursive: true });
}
