// Names from the plan, made such as can be shown: once, so that no section has to.

import type { Analysis, UnderLoad } from "../analysis";
import type { PageDocument } from "../document";
import { oneLine } from "../figure/names";

/** The document with every name of the analysis in one line. */
export function presentable(given: PageDocument): PageDocument {
  const { analysis } = given;
  const shown: Analysis = {
    ...analysis,
    ...load(analysis),
    plan: oneLine(analysis.plan),
    about: analysis.about && oneLine(analysis.about),
    further: analysis.further.map(load),
  };
  return { ...given, analysis: shown };
}

function load<Of extends UnderLoad>(under: Of): Of {
  return {
    ...under,
    regime: under.regime && oneLine(under.regime),
    arms: under.arms.map((arm) => ({ ...arm, name: oneLine(arm.name) })),
  };
}
