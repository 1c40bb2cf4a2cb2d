// A single tooltip for the page: the `data-about` text of the element under the pointer, with keyboard focus,
// or touched. It is not printed. Screen readers get the same text from the element's `aria-description`,
// which is set before the focus arrives.

import { useEffect, useState } from "preact/hooks";

interface Shown {
  of: HTMLElement;
  text: string;
  left: number;
  place: { top: string } | { bottom: string };
}

/** Shows the tooltips; used once per page. */
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

/** Its maximal width (style/page.css), in pixels. */
const WIDEST = 320;
/** The width that most tooltips need, in pixels. */
const HIGHEST = 140;
/** The gap between a tooltip and its element, and around it. */
const [GAP, EDGE] = [6, 8];

/** Below the element, or above it if there is little room below and more above. */
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
