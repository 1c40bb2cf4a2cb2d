// The document embedded in a page, for tests that read or damage it.

import { readFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

import { pageOf } from "./runs";

/** The page's source, from its script tag on. */
const HOLDER = /(<script[^>]*id="windage-document"[^>]*>)([^<]*)/;

/** The page of a run as it was written. */
export const textOf = (name: string) => readFileSync(new URL(pageOf(name)), "utf8");

/** The document of a run's page, as the binary wrote it. */
export function documentOf<Of>(name: string): Of {
  const packed = HOLDER.exec(textOf(name))?.[2];
  if (!packed) throw new Error(`the page ${name} has no document`);
  return JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString()) as Of;
}

/** The page of a run with another document in it. */
export function pageWith(name: string, document: unknown): string {
  const packed = gzipSync(JSON.stringify(document)).toString("base64");
  return textOf(name).replace(HOLDER, (_, opening: string) => opening + packed);
}
