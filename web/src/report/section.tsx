// The parts of a section about one load. A section returns null if it has nothing to show, and otherwise a
// `Block` with pictures and tables:
//
//   export function LatencySection({ load, prefix }: SectionProps) {
//     if (load.latency.length === 0) return null;
//     return <Block name="latency" title="Latency by percentile" prefix={prefix}>…</Block>;
//   }

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";

import type { UnderLoad } from "../analysis";
import type { LoadView, PageDocument } from "../document";

/** The props of every section about one load. */
export interface SectionProps {
  document: PageDocument;
  load: LoadView;
  /** The same load in analysis.json. */
  under: UnderLoad;
  /** The prefix of ids and file names, which makes them unique on a page of several loads; empty otherwise. */
  prefix: string;
}

/** The level of headings: 2 on a page of one load, 3 within one of several. */
export const Level = createContext(2);

export interface BlockProps {
  /** Its id, without the prefix: the target of links. */
  name: string;
  title: string;
  prefix: string;
  children: ComponentChildren;
}

/** A section with its heading, which the contents list. */
export function Block({ name, title, prefix, children }: BlockProps) {
  const level = useContext(Level);
  const id = prefix + name;
  return (
    // With several loads it is not a landmark: there would be many of the same name.
    <section id={id} class="block" aria-labelledby={prefix === "" ? `${id}-heading` : undefined}>
      <Heading level={level} id={`${id}-heading`}>{title}</Heading>
      <Level.Provider value={level + 1}>{children}</Level.Provider>
    </section>
  );
}

/** A heading at this level. */
export function Heading({ level, id, children }: { level: number; id?: string; children: ComponentChildren }) {
  switch (level) {
    case 2:
      return <h2 id={id}>{children}</h2>;
    case 3:
      return <h3 id={id}>{children}</h3>;
    default:
      return <h4 id={id}>{children}</h4>;
  }
}
