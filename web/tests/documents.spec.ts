// The binary's documents have the front end's types: tsc checks each one as a value.

import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "@playwright/test";

import type { ComparisonDocument } from "../src/comparison";
import type { PageDocument } from "../src/document";
import { documentOf } from "./documents";
import { pages } from "./runs";

const SOURCES = resolve(import.meta.dirname, "../src");

/**
 * The output of `--json` may have more than the page reads, since it is a contract of its own
 * (docs/FORMAT.md). The rest is for the front end only, so it must not have fields without a type.
 */
const HEAD = `
  import type { Analysis } from "${SOURCES}/analysis";
  import type { ComparisonDocument } from "${SOURCES}/comparison";
  import type { PageDocument } from "${SOURCES}/document";
  type Constant<T> = T extends object ? { readonly [Key in keyof T]: Constant<T[Key]> } : T;
`;

test("the binary's documents have the front end's types", ({}, testInfo) => {
  const names = readdirSync(pages()).filter((file) => file.endsWith(".html")).map((file) => file.slice(0, -".html".length));
  expect(names).toEqual(expect.arrayContaining(["agents", "batch", "comparison", "empty", "hostile", "missing", "sweep", "void"]));
  const filled = new Map<string, boolean>();
  const all: string[] = [];
  for (const name of names) {
    const document = documentOf<PageDocument | (ComparisonDocument & { comparison: unknown })>(name);
    if ("comparison" in document) {
      const { comparison: _, ...rest } = document;
      all.push(exact(rest, "ComparisonDocument"));
    } else {
      const { analysis, ...rest } = document;
      fill(rest.loads, "loads", filled);
      all.push(constant(analysis, "Analysis"), exact(rest, 'Omit<PageDocument, "analysis">'));
    }
  }
  // A field that is empty in all documents would not be checked.
  expect([...filled].filter(([, isSomething]) => !isSomething).map(([key]) => key)).toEqual([]);
  writeFileSync(testInfo.outputPath("written.ts"), [HEAD, ...all].join("\n"));
  const settings = { extends: resolve(import.meta.dirname, "../tsconfig.json"), compilerOptions: { types: [] }, include: ["written.ts"] };
  writeFileSync(testInfo.outputPath("tsconfig.json"), JSON.stringify(settings));
  // If tsc crashed, it did not check the documents.
  const { status, stdout, stderr } = checked(testInfo.outputDir);
  expect({ status, output: stdout.slice(0, 3000) }, stderr).toEqual({ status: 0, output: "" });
});

/** A value with all fields of the type. */
const constant = (value: unknown, type: string) => `{ const value = ${JSON.stringify(value)} as const; value satisfies Constant<${type}>; }`;

/** A value with all fields of the type and no others. */
const exact = (value: unknown, type: string) => `(${JSON.stringify(value)}) satisfies ${type};`;

/** The output of tsc for the project in this folder, and its exit status. */
const checked = (folder: string) =>
  spawnSync("npx", ["--no-install", "tsc", "--noEmit", "--project", folder], { cwd: SOURCES, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Records for every key (one for all objects of a list) whether it is filled anywhere. */
function fill(value: unknown, at: string, filled: Map<string, boolean>): void {
  const within = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const isSomething = value !== null && (typeof value !== "object" || within.length > 0);
  filled.set(at, isSomething || (filled.get(at) ?? false));
  for (const [key, each] of within) fill(each, Array.isArray(value) ? `${at}[]` : `${at}.${key}`, filled);
}
