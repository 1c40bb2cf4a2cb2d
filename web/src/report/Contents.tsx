import { useLayoutEffect, useState } from "preact/hooks";

interface Entry {
  id: string;
  text: string;
  isWithin: boolean;
}

/** Links to the page's sections, beside it if there is room. The sections are read from the page. */
export function Contents({ of }: { of: unknown }) {
  const [entries, setEntries] = useState<Entry[]>([]);
  useLayoutEffect(() => setEntries(found()), [of]);
  if (entries.length < 3) return null;
  return (
    <nav class="contents" aria-label="On this page">
      <ul>
        {entries.map((entry) => (
          <li key={entry.id} class={entry.isWithin ? "within" : undefined}>
            <a href={`#${entry.id}`} onClick={(event) => follow(event, entry.id)}>{entry.text}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Scrolls there without changing the address, which the dashboard uses itself. */
export function follow(event: Event, id: string): void {
  const there = document.getElementById(id);
  if (!there) return;
  event.preventDefault();
  there.scrollIntoView();
  there.tabIndex = -1;
  there.focus({ preventScroll: true });
}

function found(): Entry[] {
  const sections = document.querySelectorAll<HTMLElement>("main section[id]");
  return [...sections].flatMap((section) => {
    const heading = section.querySelector("h2, h3");
    if (!heading) return [];
    return [{ id: section.id, text: heading.textContent, isWithin: heading.tagName === "H3" }];
  });
}
