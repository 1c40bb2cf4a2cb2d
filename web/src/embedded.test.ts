import { expect, test } from "vitest";

import { decoded, isDocument } from "./embedded";

async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}

test("a document is unpacked as it was packed", async () => {
  const document = { page: 1, name: "µs </script> 測" };
  expect(decoded(`\n${await packed(JSON.stringify(document))}\n`)).toEqual(document);
});

test("a damaged document is explained in words", async () => {
  const whole = await packed(JSON.stringify({ page: 1, filler: "x".repeat(500) }));
  const table: [text: string, why: string][] = [
    ["", "nothing"],
    ["***", "no Base64"],
    [btoa("plain"), "no gzip"],
    [whole.slice(0, 24), "cut"],
    [await packed("{"), "no JSON"],
  ];
  for (const [text, why] of table) expect(() => decoded(text), why).toThrow(/damaged.*windage report/);
});

test("a document has a version", () => {
  const table: [document: unknown, expected: boolean][] = [
    [{ page: 1 }, true], [{ page: "1" }, false], [{}, false], [null, false], ["page", false],
  ];
  for (const [document, expected] of table) expect(isDocument(document)).toBe(expected);
});
