// What a section about one load is made of. A section returns null when it has nothing to show, and else
// a `Block`, in which pictures and tables stand:
//
//   export function LatencySection({ load, prefix }: SectionProps) {
//     if (load.latency.length === 0) return null;
//     return <Block name="latency" title="Latency by percentile" prefix={prefix}>…</Block>;
//   }

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";

import type { UnderLoad } from "../analysis";
import type { LoadView, PageDocument } from "../document";

/** What every section about one load is given; it renders null when it has nothing to show. */
export interface SectionProps {
  document: PageDocument;
  load: LoadView;
  /** The same load in analysis.json. */
  under: UnderLoad;
  /** What ids and names of files begin with, so that they are unique on a page of several loads; else empty. */
  prefix: string;
}

/** How deep headings stand: 2 on a page of one load, 3 within one of several. */
export const Level = createContext(2);

export interface BlockProps {
  /** Its id, after the prefix: what links lead to. */
  name: string;
  title: string;
  prefix: string;
  children: ComponentChildren;
}

/** A section with its heading, found by the contents. */
export function Block({ name, title, prefix, children }: BlockProps) {
  const level = useContext(Level);
  const id = prefix + name;
  return (
    // Within one of several loads it is no landmark: there would be many of the same name.
    <section id={id} class="block" aria-labelledby={prefix === "" ? `${id}-heading` : undefined}>
      <Heading level={level} id={`${id}-heading`}>{title}</Heading>
      <Level.Provider value={level + 1}>{children}</Level.Provider>
    </section>
  );
}

/** A heading at this depth. */
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
