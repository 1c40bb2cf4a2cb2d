// Delivered against expected telemetry, as bars and in words.

import type { Arm, Fidelity } from "../../analysis";
import type { Field } from "../../figure/csv";
import { count, isFigure, percentShort, short } from "../../figure/format";
import { oneLine } from "../../figure/names";
import type { ArmMark } from "./arms";
import { listed } from "./words";

/** What arrived of an arm. */
export interface Delivery {
  mark: ArmMark;
  /** delivered / expected, both in whole ones as they are written; null where nothing was expected. */
  share: number | null;
  /** More was lost than sampling explains. */
  isLossy: boolean;
  /** "14,778 of 14,922 traces" and the share. */
  figures: string;
  /** The share alone, or what came where nothing was expected. */
  short: string;
  /** "382 B a span, 541 B on the wire" */
  bytes: string;
  /** What became of what was lost; null where nothing is said of it. */
  reasons: string | null;
}

/** The arms of which telemetry came or was expected. */
export function deliveriesOf(arms: readonly { arm: Arm; mark: ArmMark }[]): Delivery[] {
  return arms.flatMap(({ arm, mark }) => (arm.fidelity ? [deliveryOf(arm.fidelity, mark)] : []));
}

function deliveryOf(of: Fidelity, mark: ArmMark): Delivery {
  const expected = isFigure(of.expected) ? Math.round(of.expected) : 0;
  const share = expected > 0 && isFigure(of.delivered) ? Math.round(of.delivered) / expected : null;
  const delivered = count(of.delivered);
  return {
    mark,
    share,
    isLossy: of.beyond_sampling === true,
    figures: share === null ? `${delivered} ${of.of}, none expected` : `${delivered} of ${count(of.expected)} ${of.of}, ${percentShort(share)}`,
    short: share === null ? `${delivered} ${of.of}` : percentShort(share),
    bytes: bytesInWords(of),
    reasons: reasonsOf(of),
  };
}

function bytesInWords(of: Fidelity): string {
  const plain = isFigure(of.bytes_per_span) ? [`${short("bytes", of.bytes_per_span)} a span`] : [];
  const wire = isFigure(of.wire_bytes_per_span) ? [`${short("bytes", of.wire_bytes_per_span)} on the wire`] : [];
  return [...plain, ...wire].join(", ");
}

function reasonsOf(of: Fidelity): string | null {
  const reasons = (of.by_reason ?? []).map(
    (loss) => `${count(loss.lost)} ${loss.of} lost (${oneLine(loss.reason)})`,
  );
  const beyond = isFigure(of.told_beyond_lost) ? [`${count(of.told_beyond_lost)} more told than lost`] : [];
  const all = [...reasons, ...beyond];
  if (all.length > 0) return listed(all);
  return of.beyond_sampling === true ? `${count(of.lost)} ${of.of} lost, and nothing is known of why` : null;
}

/** The bars in words, for those who can't see them. */
export function deliveriesInWords(deliveries: readonly Delivery[]): string {
  const sentences = deliveries.map((of) => {
    const reasons = of.reasons ? `; ${of.reasons}` : "";
    const bytes = of.bytes ? `; ${of.bytes}` : "";
    return `${of.mark.label}: ${of.figures}${reasons}${bytes}.`;
  });
  return `Telemetry that arrived, of what was expected. ${sentences.join(" ")}`;
}

/** What arrived of every arm. */
export function fidelityTable(arms: readonly Arm[]): Field[][] {
  const rows = arms.flatMap(({ id, fidelity: of }): Field[][] =>
    of
      ? [[id, of.of, of.expected, of.delivered, of.lost, of.bytes_per_span, of.wire_bytes_per_span, of.backend, reasonsOf(of)]]
      : [],
  );
  return [["arm", "of", "expected", "delivered", "lost", "bytes_per_span", "wire_bytes_per_span", "backend", "reasons"], ...rows];
}
