// The document embedded in a page: JSON, compressed with gzip, in Base64. It is unpacked at once and not by
// the browser's streams, so that the first picture of the page has the document in it.

import { inflateSync } from "fflate";

/** A page's embedded document. */
export interface Embedded {
  /** The kind of document: `run` or `comparison`; under `windage serve` also `runs` or `refusal`. */
  kind: string;
  document: unknown;
}

/** Why a document can't be shown, in words for the reader. */
export class Unreadable extends Error {}

/** The document in this page; null if there is none. */
export function embedded(): Embedded | null {
  const holder = document.getElementById("windage-document");
  if (!holder) return null;
  return { kind: holder.dataset["kind"] ?? "run", document: decoded(holder.textContent) };
}

/** Decodes Base64 and gzip. Throws `Unreadable`. */
export function decoded(text: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(unpacked(Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0))))) as unknown;
  } catch (cause) {
    throw new Unreadable("The document in this page is damaged: it was truncated or changed. Make the page again: windage report RUN --format html.", { cause });
  }
}

/** The parts around the compressed data in a gzip file without a name (RFC 1952). */
const [HEAD, TAIL] = [10, 8];

/** The content of a gzip file, checked by its length. */
function unpacked(file: Uint8Array): Uint8Array {
  const length = new DataView(file.buffer).getUint32(file.length - 4, true);
  const content = inflateSync(file.subarray(HEAD, -TAIL));
  if (content.length !== length) throw new Error(`it has ${content.length} bytes and not ${length}`);
  return content;
}

/** The same as a run's or a comparison's document, if it looks like one. */
export function isDocument<Of extends { page: number }>(document: unknown): document is Of {
  return typeof document === "object" && document !== null && typeof (document as { page?: unknown }).page === "number";
}
