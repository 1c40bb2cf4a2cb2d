// Puts the licences of the bundled packages into a comment at the head of the script, so that every binary
// and report contains them.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Plugin } from "vite";

/** Writes the licences of the bundled packages above the bundle. */
export function licences(): Plugin {
  return {
    name: "windage:licences",
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        const rendered = Object.entries(chunk.modules).filter(([, { renderedLength }]) => renderedLength > 0);
        chunk.code = `${banner(rendered.map(([id]) => id))}\n${chunk.code}`;
      }
    },
  };
}

/** The paragraphs of each licence; long ones, which many packages share, are replaced by their numbers. */
function banner(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((id) => /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []));
  const texts: string[] = [];
  const written = (paragraph: string) => {
    if (paragraph.length < SHORT) return paragraph;
    if (!texts.includes(paragraph)) texts.push(paragraph);
    return `[${texts.indexOf(paragraph) + 1}]`;
  };
  const notices = [...folders].sort().map((folder) => {
    const { named, paragraphs } = licenceOf(folder);
    return `${named}: ${paragraphs.map(written).join(" ")}`;
  });
  const all = [...notices, ...texts.map((text, i) => `[${i + 1}] ${text}`)].join("\n");
  // A licence must not end the comment, or the element that contains the script.
  const safe = all.replaceAll("*/", "* /").replaceAll("</", "< /").replaceAll("<!--", "< !--");
  return `/*! windage, Apache-2.0, with parts of:\n${safe}\n*/`;
}

/** Shorter paragraphs, such as copyright notices, belong to one package. */
const SHORT = 120;

function licenceOf(folder: string): { named: string; paragraphs: string[] } {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, string>;
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry));
  if (!file) throw new Error(`${name} is bundled and has no file with its licence in ${folder}: bundle another, or add its notice here`);
  const paragraphs = readFileSync(join(folder, file), "utf8").split(/\r?\n\s*\r?\n/).map((text) => text.trim().replace(/\s+/g, " "));
  return { named: `${name} ${version}`, paragraphs: paragraphs.filter((text) => text !== "") };
}
