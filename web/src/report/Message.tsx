/** Shown when there is nothing else to show: what happened, and what to do. */
export function Message({ title, text }: { title: string; text: string }) {
  return (
    <main class="message">
      <h1>{title}</h1>
      <p role="alert">{text}</p>
    </main>
  );
}
