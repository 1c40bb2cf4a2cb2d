import { useState } from "preact/hooks";

import type { Fact, PageDocument } from "../document";
import { Facts } from "./Facts";
import { Block } from "./section";

/** The facts that are needed to judge or repeat the run. */
export function Provenance({ document: { commands, provenance, host, directory } }: { document: PageDocument }) {
  return (
    <Block name="provenance" title="Provenance" prefix="">
      {commands.map((fact) => <Command key={fact.label} fact={fact} />)}
      <p>
        The raw data (counters and histograms of every window) are in the run directory <code>{directory}</code>;
        everything on this page is computed from them.
      </p>
      <Facts facts={provenance} />
      {host.length > 0 && (
        <details class="more">
          <summary>The machine: {host.length} facts</summary>
          <Facts facts={host} />
        </details>
      )}
    </Block>
  );
}

/** A command that can be copied. */
function Command({ fact }: { fact: Fact }) {
  const [copyLabel, setCopyLabel] = useState("Copy");
  const copy = async () => {
    setCopyLabel((await copied(fact.text)) ? "Copied" : "Select and copy it by hand");
    setTimeout(() => setCopyLabel("Copy"), 3000);
  };
  return (
    <div class="command">
      <span class="label">{fact.label}</span>
      <code>{fact.text}</code>
      <button type="button" aria-label={`Copy the command to ${fact.label}`} onClick={() => void copy()}>
        <span aria-live="polite">{copyLabel}</span>
      </button>
    </div>
  );
}

/** Whether the text was copied; browsers forbid it on some pages. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
