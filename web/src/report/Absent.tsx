import { follow } from "./Contents";
import type { SectionProps } from "./section";

/** What a run that did not come to its end, or whose figures are void, has no picture of. */
export function Absent({ load: { absent }, prefix }: SectionProps) {
  if (absent === null) return null;
  return (
    <p class="note">
      {absent}{" "}
      <a href={`#${prefix}validity`} onClick={(event) => follow(event, `${prefix}validity`)}>Validity</a> says what went wrong.
    </p>
  );
}
