// The document embedded in a report: JSON, compressed with gzip, in Base64.

/** A page's embedded document. */
export interface Embedded {
  /** The kind of document: `run` or `comparison`. */
  kind: string;
  document: unknown;
}

/** Why a document can't be shown, in words for the reader. */
export class Unreadable extends Error {}

/** The document in this page; null under `windage serve`, which requests it. */
export async function embedded(): Promise<Embedded | null> {
  const holder = document.getElementById("windage-document");
  if (!holder) return null;
  return { kind: holder.dataset["kind"] ?? "run", document: await decoded(holder.textContent) };
}

/** Decodes Base64 and gzip. Throws `Unreadable`. */
export async function decoded(text: string): Promise<unknown> {
  if (typeof DecompressionStream === "undefined") {
    throw new Unreadable("This browser is too old to unpack the report: it has no DecompressionStream. Browsers since 2023 have it; the raw figures are in analysis.json.");
  }
  try {
    const compressed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return (await new Response(stream).json()) as unknown;
  } catch (cause) {
    throw new Unreadable("The document in this page is damaged: it was truncated or changed. Make the page again: windage report RUN --format html.", { cause });
  }
}

/** The same as a run's or a comparison's document, if it looks like one. */
export function isDocument<Of extends { page: number }>(document: unknown): document is Of {
  return typeof document === "object" && document !== null && typeof (document as { page?: unknown }).page === "number";
}
