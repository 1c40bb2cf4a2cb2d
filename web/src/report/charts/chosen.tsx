// Which of many arms are shown. All pictures of a load share the choice: an arm picked for the latencies is
// also wanted over time.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";

/** The ids that the reader chose, null if none were chosen, and how to change them. */
type Chosen = [ids: readonly string[] | null, choose: (ids: readonly string[] | null) => void];

const Arms = createContext<Chosen>([null, () => undefined]);

/** All pictures inside share one choice. */
export function Choosing({ children }: { children: ComponentChildren }) {
  const [ids, choose] = useState<readonly string[] | null>(null);
  const chosen = useMemo((): Chosen => [ids, choose], [ids]);
  return <Arms.Provider value={chosen}>{children}</Arms.Provider>;
}

/** The reader's choice of arms. */
export function useChosen(): Chosen {
  return useContext(Arms);
}
