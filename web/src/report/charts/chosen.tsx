// Which of many arms are shown. The choice is one for all pictures of a load: who picks an arm for the
// latencies wants it over time, too.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useMemo, useState } from "preact/hooks";

/** The ids that the reader chose, null while nothing was chosen, and how to change that. */
type Chosen = [ids: readonly string[] | null, choose: (ids: readonly string[] | null) => void];

const Arms = createContext<Chosen>([null, () => undefined]);

/** All pictures within share one choice. */
export function Choosing({ children }: { children: ComponentChildren }) {
  const [ids, choose] = useState<readonly string[] | null>(null);
  const chosen = useMemo((): Chosen => [ids, choose], [ids]);
  return <Arms.Provider value={chosen}>{children}</Arms.Provider>;
}

/** The reader's choice of arms. */
export function useChosen(): Chosen {
  return useContext(Arms);
}
