import type { Fact } from "../document";

/** Labelled lines; nothing where there are none. */
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

/** Text in which `keys and commands` are set apart, as the binary marks them. */
export function Marked({ text }: { text: string }) {
  const parts = text.split("`");
  // A mark without its second is only a character.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}
