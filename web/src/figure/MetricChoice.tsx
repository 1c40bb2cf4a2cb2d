import { useId } from "preact/hooks";

/** Selects the metric of a picture; null if there is only one. */
export function MetricChoice(props: {
  of: readonly { metric: string; heading: string }[];
  chosen: string;
  choose: (metric: string) => void;
}) {
  const id = useId();
  if (props.of.length < 2) return null;
  return (
    <span>
      <label for={id}>Metric</label>{" "}
      <select id={id} value={props.chosen} onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.of.map(({ metric, heading }) => <option key={metric} value={metric}>{heading}</option>)}
      </select>
    </span>
  );
}
