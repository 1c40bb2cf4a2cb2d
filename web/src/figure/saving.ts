// Saves content of the page as files. Nothing is sent anywhere: files are downloads of `blob:` URLs.

import { type Field, csvText } from "./csv";
import { type Picture, standalone } from "./standalone";

export type { Field } from "./csv";

/** Saves a picture as a self-contained SVG file. */
export function saveSvg(name: string, picture: Picture): void {
  const made = standalone(picture);
  if (made) offer(`${name}.svg`, new Blob([made.text], { type: "image/svg+xml" }));
}

/** Saves a picture as a PNG file at twice the page's resolution; fails if the browser can't make one. */
export async function savePng(name: string, picture: Picture): Promise<void> {
  const made = standalone(picture);
  if (!made) return;
  const url = URL.createObjectURL(new Blob([made.text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    const scale = Math.min(2, LARGEST / made.width, LARGEST / made.height);
    canvas.width = Math.round((made.width || image.width) * scale);
    canvas.height = Math.round((made.height || image.height) * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((made) => canvas.toBlob(made, "image/png"));
    if (!blob) throw new Error("the picture is too large for this browser");
    offer(`${name}.png`, blob);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Saves rows, headings first, as a CSV file. */
export function saveCsv(name: string, rows: Field[][]): void {
  offer(`${name}.csv`, new Blob([csvText(rows)], { type: "text/csv" }));
}

/** Browsers fail on larger canvases. */
const LARGEST = 16_000;

function offer(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  link.click();
  // The download holds the blob by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
