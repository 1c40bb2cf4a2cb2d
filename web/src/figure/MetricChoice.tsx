import { useId } from "preact/hooks";

import { headline } from "./metrics";

/** Which metric a picture shows; nothing where there is only one. */
export function MetricChoice({ metrics, chosen, choose }: { metrics: readonly string[]; chosen: string; choose: (metric: string) => void }) {
  const id = useId();
  if (metrics.length < 2) return null;
  return (
    <span>
      <label for={id}>Metric</label>{" "}
      <select id={id} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {metrics.map((each) => <option key={each} value={each}>{headline(each)}</option>)}
      </select>
    </span>
  );
}
