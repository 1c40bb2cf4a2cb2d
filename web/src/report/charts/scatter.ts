// The sources of the primary metric's scatter.

import type { ScatterView } from "../../document";
import type { Field } from "../../figure/csv";

type ArmScatter = ScatterView["arms"][number];

/** The bars in words, for those who can't see them. */
export function scatterInWords(scatters: readonly { mark: { label: string }; own: ArmScatter }[]): string {
  const sentences = scatters.map(({ mark, own }) => {
    const sources = own.sources.map(({ text }) => text).join(", ");
    return `${mark.label}: ${sources}${own.widths ? `; ${own.widths}` : ""}.`;
  });
  return `Standard deviations of log ratios by their source. ${sentences.join(" ")}`;
}

/** All figures on the scatter of every arm. */
export function scatterTable({ arms }: ScatterView): Field[][] {
  const rows = arms.map((own): Field[] => [own.arm, ...own.sources.map(({ sd }) => sd), own.half_width]);
  return [["arm", "launch_sd", "block_sd", "window_sd", "half_width"], ...rows];
}
