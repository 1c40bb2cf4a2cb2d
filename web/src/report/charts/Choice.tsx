import { useId } from "preact/hooks";

/** One of several ways to show a picture, as radio buttons in a row. */
export function Choice<Value extends string>(props: {
  label: string;
  options: readonly { value: Value; label: string }[];
  chosen: Value;
  choose: (value: Value) => void;
}) {
  const name = useId();
  if (props.options.length < 2) return null;
  return (
    <fieldset class="choice">
      <legend>{props.label}</legend>
      {props.options.map(({ value, label }) => (
        <label key={value}>
          <input type="radio" name={name} checked={value === props.chosen} onChange={() => props.choose(value)} />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
