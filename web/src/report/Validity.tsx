import type { ValidityView } from "../document";
import { Badge } from "./Badge";
import { Marked } from "./Facts";
import { Block, type SectionProps } from "./section";

type Doubt = ValidityView["doubts"][number];

/** What speaks against the figures, with its evidence. */
export function Validity({ load: { validity }, prefix }: SectionProps) {
  return (
    <Block name="validity" title="Validity" prefix={prefix}>
      <p>
        <Badge verdict={validity.verdict} /> {validity.meaning}
      </p>
      {validity.doubts.length > 0 && (
        <ul class="doubts">
          {validity.doubts.map((doubt, i) => <Reason key={i} doubt={doubt} />)}
        </ul>
      )}
    </Block>
  );
}

function Reason({ doubt: { code, verdict, text, evidence, about } }: { doubt: Doubt }) {
  return (
    <li class={`doubt ${verdict}`}>
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
