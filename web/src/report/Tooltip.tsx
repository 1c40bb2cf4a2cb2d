// One note for the whole page: what stands in `data-about` of what the pointer is over, the keyboard is
// on or the finger touched. It is not in print, where there is nothing to point with. Those who can't see
// it have the same text as the element's own `aria-description`, which is there before the focus is.

import { useEffect, useState } from "preact/hooks";

interface Shown {
  of: HTMLElement;
  text: string;
  left: number;
  place: { top: string } | { bottom: string };
}

/** Shows the notes; once on a page. */
export function Tooltip() {
  const [shown, show] = useState<Shown | null>(null);
  useEffect(() => {
    const about = (event: Event) => {
      const of = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-about]") : null;
      show(of ? placed(of) : null);
    };
    const away = (event: Event) => {
      if (event instanceof KeyboardEvent && event.key === "Escape") show(null);
    };
    const follow = () => show((now) => now && placed(now.of));
    const listeners: [string, (event: Event) => void][] = [
      ["mouseover", about],
      ["focusin", about],
      ["click", about],
      ["keydown", away],
      ["scroll", follow],
    ];
    for (const [name, listener] of listeners) document.addEventListener(name, listener, { capture: true, passive: true });
    return () => {
      for (const [name, listener] of listeners) document.removeEventListener(name, listener, { capture: true });
    };
  }, []);
  return (
    <div
      aria-hidden="true"
      class="tooltip"
      hidden={!shown}
      style={shown ? { left: `${shown.left}px`, ...shown.place } : {}}
    >
      {shown?.text}
    </div>
  );
}

/** As wide as it may become (style/page.css), in pixels. */
const WIDEST = 320;
/** What most notes need, in pixels. */
const HIGHEST = 140;
/** Between a note and what it is about, and around it. */
const [GAP, EDGE] = [6, 8];

/** Below what it is about, and above it where there is more room than little below. */
function placed(of: HTMLElement): Shown | null {
  const text = of.dataset["about"];
  if (!text) return null;
  const box = of.getBoundingClientRect();
  const { clientWidth: room, clientHeight: height } = document.documentElement;
  const left = Math.max(EDGE, Math.min(box.left, room - Math.min(WIDEST, room) - EDGE));
  const below = height - box.bottom;
  const isBelow = below >= HIGHEST || below >= box.top;
  return { of, text, left, place: isBelow ? { top: `${box.bottom + GAP}px` } : { bottom: `${height - box.top + GAP}px` } };
}
