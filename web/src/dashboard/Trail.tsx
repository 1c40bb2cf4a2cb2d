import type { ComponentChildren } from "preact";

/** The way back, and what else can be had of what is shown. */
export function Trail({ children }: { children?: ComponentChildren }) {
  return (
    <nav class="trail" aria-label="Runs">
      <a href="#/">All runs</a>
      {children}
    </nav>
  );
}

/** In place of what is not there. */
export function Instead({ error, waiting }: { error: string | null; waiting: string }) {
  return (
    <main class="instead">
      {error ? <p role="alert">{error}</p> : <p role="status">{waiting}</p>}
    </main>
  );
}
