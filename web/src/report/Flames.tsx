import { useEffect, useMemo, useRef } from "preact/hooks";

import type { FlameGraph } from "../document";
import { Figure } from "../figure/Figure";
import "../style/charts.css";
import { cleaned } from "./charts/flameGraph";
import { Block, type SectionProps } from "./section";

/** Where the CPU of arms goes, compared with the baseline. */
export function Flames({ load, prefix }: SectionProps) {
  if (load.flame_graphs.length === 0) return null;
  return (
    <Block name="flames" title="Flame graphs" prefix={prefix}>
      {load.flame_graphs.map((graph) => (
        <Flame key={graph.arm} graph={graph} name={`${prefix}flame-${graph.arm}`} />
      ))}
    </Block>
  );
}

function Flame({ graph, name }: { graph: FlameGraph; name: string }) {
  const picture = useMemo(() => cleaned(graph.svg), [graph]);
  const text = useMemo(() => (picture ? new XMLSerializer().serializeToString(picture) : null), [picture]);
  if (!picture || text === null) return <p class="note">{graph.title}: the picture is damaged and not shown.</p>;
  return (
    <Figure title={graph.title} name={name} description={graph.note} svg={text}>
      <Shadow picture={picture} label={graph.title} />
      <p class="note">{graph.note}</p>
    </Figure>
  );
}

/**
 * A picture in a shadow root, with ids and style rules of its own. The box can be scrolled by keyboard, so
 * that text keeps a readable size.
 */
function Shadow({ picture, label }: { picture: SVGSVGElement; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = "svg { display: block; width: 100%; height: auto } :host > svg { min-width: 46rem }";
    root.replaceChildren(style, document.importNode(picture, true));
  }, [picture]);
  return <div ref={place} class="flame" role="region" aria-label={label} tabIndex={0} />;
}
