import type { Fact } from "../document";

/** Labelled lines; null if there are none. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <dl>
      {facts.map((fact, i) => (
        <div key={i}>
          <dt>{fact.label}</dt>
          <dd><Marked text={fact.text} /></dd>
        </div>
      ))}
    </dl>
  );
}

/** Text with `keys and commands` highlighted, as the binary marks them. */
export function Marked({ text }: { text: string }) {
  const parts = text.split("`");
  // An unpaired mark is an ordinary character.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}
