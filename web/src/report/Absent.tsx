import { follow } from "./Contents";
import type { SectionProps } from "./section";

/** Pictures that a run without an end, or with void figures, does not have. */
export function Absent({ load: { absent }, prefix }: SectionProps) {
  if (absent === null) return null;
  return (
    <p class="note">
      {absent}{" "}
      <a href={`#${prefix}validity`} onClick={(event) => follow(event, `${prefix}validity`)}>Validity</a> says what went wrong.
    </p>
  );
}
