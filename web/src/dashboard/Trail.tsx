import type { ComponentChildren } from "preact";

/** The way back, and other views of the same content. */
export function Trail({ children }: { children?: ComponentChildren }) {
  return (
    <nav class="trail" aria-label="Runs">
      <a href="/">All runs</a>
      {children}
    </nav>
  );
}

/** Shown in place of missing content. */
export function Instead({ error, waiting }: { error: string | null; waiting: string }) {
  return (
    <main class="instead">
      {error ? <p role="alert">{error}</p> : <p role="status">{waiting}</p>}
    </main>
  );
}
