import { words } from "../figure/metrics";
import type { RunRow } from "./api";

/** The treatment that costs most in the primary metric; of less throughput a loss is the cost. Null where nothing is known. */
export function dearest({ primary, treatments }: Pick<RunRow, "primary" | "treatments">): RunRow["treatments"][number] | null {
  const sign = primary !== null && words(primary).direction === "higher" ? -1 : 1;
  const cost = ({ relative }: RunRow["treatments"][number]) => sign * (relative?.estimate ?? 0);
  const known = treatments.filter((treatment) => treatment.relative !== null);
  return known.sort((one, other) => cost(other) - cost(one))[0] ?? null;
}
