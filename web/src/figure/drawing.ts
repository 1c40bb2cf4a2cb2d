// Decides when a picture is drawn. The page must appear at once however many pictures it has, and none may be
// missing in print or in screenshots: so visible ones are drawn at once, the others when the browser is idle,
// and the rest before printing.

/** A picture that decides when to draw itself. */
export class Drawing {
  private readonly place: HTMLElement;
  private draw: (width: number) => Element | null;
  private width = 0;
  private isDrawn = false;
  private frame = 0;
  private readonly resized: ResizeObserver;
  private readonly seen: IntersectionObserver;

  constructor(place: HTMLElement, draw: (width: number) => Element | null) {
    this.place = place;
    this.draw = draw;
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(place);
    this.seen = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) this.show(this.place.clientWidth);
      },
      { rootMargin: `${AHEAD}px` },
    );
    this.seen.observe(place);
    waiting.add(this);
    all.add(this);
    if (this.isNear()) this.show(place.clientWidth);
    inIdleTime();
  }

  /** Whether it is visible, or almost. */
  private isNear(): boolean {
    const { top, bottom } = this.place.getBoundingClientRect();
    return top < window.innerHeight + AHEAD && bottom > -AHEAD;
  }

  /** Another picture in the same place. */
  replace(draw: (width: number) => Element | null): void {
    if (draw === this.draw) return;
    this.draw = draw;
    if (!this.isDrawn) return;
    if (this.place.clientWidth > 0) return this.show(this.place.clientWidth, true);
    // In a closed detail: remove the old picture; the new one waits until it is opened.
    this.place.replaceChildren();
    this.isDrawn = false;
    waiting.add(this);
  }

  /** The place with its picture, drawn if necessary; null if nothing is visible. */
  drawn(): HTMLElement | null {
    if (!this.isDrawn) this.show(this.place.clientWidth);
    return this.place.childElementCount > 0 ? this.place : null;
  }

  /** Draws it unless it is drawn already; in a place without width (a closed detail) it waits. */
  show(width: number, anew = false): void {
    const whole = Math.floor(width);
    if (whole <= 0 || (this.isDrawn && !anew && whole === this.width)) return;
    waiting.delete(this);
    this.width = whole;
    this.isDrawn = true;
    const picture = drawnOr(() => this.draw(whole));
    // The place has a description of the whole picture; Plot's names of parts ("rule", "dot") help nobody.
    for (const part of picture?.querySelectorAll("[aria-label]") ?? []) part.removeAttribute("aria-label");
    this.place.replaceChildren(...(picture ? [picture] : []));
    this.place.style.minHeight = "0";
    this.seen.disconnect();
  }

  /** As wide as paper, or as its place again. */
  forPaper(isPaper: boolean): void {
    const own = this.place.clientWidth;
    if (own <= 0) return;
    const paper = this.place.closest(".chart-grid > figure + figure, .chart-grid > figure:has(+ figure)") ? HALF_PAPER : PAPER;
    this.show(isPaper ? Math.min(own, paper) : own);
  }

  /** Removes it. */
  end(): void {
    waiting.delete(this);
    all.delete(this);
    this.resized.disconnect();
    this.seen.disconnect();
    cancelAnimationFrame(this.frame);
  }

  // At most one drawing per frame; until then the style sheet scales the old one.
  private fit(): void {
    if (this.place.clientWidth === 0) return;
    if (!this.isDrawn) return inIdleTime();
    if (isPrinting || this.place.clientWidth === this.width) return;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.show(this.place.clientWidth));
  }
}

/** The picture, or why it could not be drawn: one bad picture must not break the page. */
function drawnOr(draw: () => Element | null): Element | null {
  try {
    return draw();
  } catch (problem) {
    const words = document.createElement("p");
    words.className = "note";
    words.textContent = `This picture can’t be drawn: ${problem instanceof Error ? problem.message : String(problem)}`;
    return words;
  }
}

/** Pictures are drawn when they are so near to the visible part of the page, in pixels. */
const AHEAD = 400;
/** The width of A4 between its margins, in CSS pixels. */
const PAPER = 680;
/** The part of it for each of two pictures side by side (style/print.css). */
const HALF_PAPER = 330;
const waiting = new Set<Drawing>();
const all = new Set<Drawing>();
let isScheduled = false;
let isPrinting = false;

const later: (then: () => void) => void =
  typeof requestIdleCallback === "function"
    ? (then) => void requestIdleCallback(then, { timeout: 2000 })
    : (then) => void setTimeout(then, 50);

/** Draws one picture at a time, so that the reader's clicks are handled in between. */
function inIdleTime(): void {
  if (isScheduled) return;
  isScheduled = true;
  later(() => {
    isScheduled = false;
    const next = [...waiting].find((drawing) => drawing.drawn() !== null || !waiting.has(drawing));
    if (next && waiting.size > 0) inIdleTime();
  });
}

if (typeof window !== "undefined") {
  window.addEventListener("beforeprint", () => {
    isPrinting = true;
    for (const drawing of all) drawing.forPaper(true);
  });
  window.addEventListener("afterprint", () => {
    isPrinting = false;
    for (const drawing of all) drawing.forPaper(false);
  });
}
