import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import type { LoadView } from "../../document";
import { Swatch } from "../../figure/Key";
import { type ArmMark, type ArmMarks, armMarks, markOf, mostTelling } from "./arms";
import { useChosen } from "./chosen";

/** The arms that a picture shows, and the control to choose them; null if all fit. */
export interface Shown {
  marks: ArmMarks;
  arms: readonly ArmMark[];
  picker: ComponentChildren;
  /** The note for files and paper, which have no picker; null if all arms are shown. */
  shownNote: string | null;
}

/**
 * The arms to show, of those in `known`: no more than `limit` until the reader asks for more. `known` must be
 * the same from one rendering to the next.
 */
export function useShown(load: LoadView, known: readonly { arm: string }[], limit: number): Shown {
  const [chosen, choose] = useChosen();
  const marks = useMemo(() => armMarks(load), [load]);
  const ids = useMemo(() => [...new Set(known.map((of) => of.arm))], [known]);
  const isMany = ids.length > limit;
  const telling = useMemo(() => mostTelling(load, ids, limit), [load, ids, limit]);
  const arms = useMemo(() => {
    const shown = isMany && chosen ? ids.filter((id) => chosen.includes(id)) : telling;
    return shown.map((id) => markOf(marks, id));
  }, [marks, ids, isMany, chosen, telling]);
  const all = useMemo(() => ids.map((id) => markOf(marks, id)), [marks, ids]);
  return {
    marks,
    arms,
    shownNote: arms.length < ids.length ? `${arms.length} of ${ids.length} arms are shown.` : null,
    picker: isMany ? <ArmPicker all={all} shown={arms} choose={choose} /> : null,
  };
}

/** Check boxes, one for each arm. */
function ArmPicker(props: {
  all: readonly ArmMark[];
  shown: readonly ArmMark[];
  choose: (ids: readonly string[] | null) => void;
}) {
  const { all, shown, choose } = props;
  const ids = shown.map((arm) => arm.id);
  const toggle = (id: string) => choose(ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]);
  return (
    <details class="arm-picker">
      <summary>
        Arms: {shown.length} of {all.length}
      </summary>
      <p>
        <button type="button" onClick={() => choose(null)}>largest effects</button>{" "}
        <button type="button" onClick={() => choose(all.map((arm) => arm.id))}>all</button>{" "}
        <button type="button" onClick={() => choose([])}>none</button>
      </p>
      <fieldset>
        <legend class="unseen">Arms shown</legend>
        {all.map((arm) => (
          <label key={arm.id}>
            <input type="checkbox" checked={ids.includes(arm.id)} onChange={() => toggle(arm.id)} />
            <Swatch entry={{ shape: "line", ...arm.style }} />
            {arm.label}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
