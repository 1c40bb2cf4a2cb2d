// Delivered against expected telemetry.

import type { Arm } from "../../analysis";
import type { Delivery } from "../../document";
import type { Field } from "../../figure/csv";

/** The bars in words, for those who can't see them. */
export function deliveriesInWords(deliveries: readonly { mark: { label: string }; own: Delivery }[]): string {
  const sentences = deliveries.map(({ mark, own }) => `${mark.label}: ${[own.figures, own.losses, own.note].filter(Boolean).join("; ")}.`);
  return `Delivered share of expected telemetry. ${sentences.join(" ")}`;
}

/** The delivery of every arm. */
export function fidelityTable(arms: readonly Arm[], deliveries: readonly Delivery[]): Field[][] {
  const rows = arms.flatMap(({ id, fidelity: of }): Field[][] => {
    const reasons = deliveries.find((own) => own.arm === id)?.losses;
    return of ? [[id, of.of, of.expected, of.delivered, of.lost, of.bytes_per_span, of.wire_bytes_per_span, of.backend, reasons || null]] : [];
  });
  return [["arm", "of", "expected", "delivered", "lost", "bytes_per_span", "wire_bytes_per_span", "backend", "reasons"], ...rows];
}
