import type { ValidityView } from "../document";
import { Badge } from "./Badge";
import { Marked } from "./Facts";
import { Block, type SectionProps } from "./section";

type Warning = ValidityView["warnings"][number];

/** Warnings about the figures, with their evidence. */
export function Validity({ load: { validity }, prefix }: SectionProps) {
  return (
    <Block name="validity" title="Validity" prefix={prefix}>
      <p>
        <Badge verdict={validity.verdict} /> {validity.meaning}
      </p>
      {validity.warnings.length > 0 && (
        <ul class="warnings">
          {validity.warnings.map((warning, i) => <Reason key={i} warning={warning} />)}
        </ul>
      )}
    </Block>
  );
}

function Reason({ warning: { code, verdict, text, evidence, about } }: { warning: Warning }) {
  return (
    <li class={`warning ${verdict}`}>
      <p>
        <code>{code}</code> <Badge verdict={verdict} />
      </p>
      <p><Marked text={text} /></p>
      {about !== null && <p class="note">about: {about}</p>}
      {evidence.length > 0 && (
        <dl class="evidence" aria-label="evidence">
          {evidence.map(([name, figure], i) => (
            <div key={i}>
              <dt>{name}</dt>
              <dd>{figure}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}
