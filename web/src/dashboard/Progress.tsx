import { oneLine } from "../figure/names";
import { duration } from "./duration";
import type { RunProgress } from "./api";

/** The progress and the last events of a run. */
export function Progress({ progress }: { progress: RunProgress }) {
  const { round, rounds, blocks_done, blocks, windows, windows_void, lasts_s, left_s, events } = progress;
  const last = events.slice(-5).reverse();
  return (
    <section class="progress" aria-label="Progress">
      <p>
        <strong>In progress:</strong> round {Math.min(round + 1, rounds)} of {rounds}, {blocks_done}
        {blocks !== null && ` of ${blocks}`} blocks, {windows} windows
        {windows_void > 0 && `, ${windows_void} of them void`}; {duration(lasts_s)} so far
        {left_s !== null && `, about ${duration(left_s)} left`}
      </p>
      {blocks !== null && <progress max={blocks} value={blocks_done} aria-label="Blocks done" />}
      {last.length > 0 && (
        <ol class="events">
          {last.map((event) => (
            <li key={`${event.at_s} ${event.text}`}>
              <span class="soft">{duration(event.at_s)}</span> {oneLine(event.text)}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
