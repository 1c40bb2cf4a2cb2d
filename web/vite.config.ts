import { defineConfig } from "vitest/config";

import { licences } from "./licences.ts";

// One script and one style sheet, whose names are fixed: the binary embeds both, in the report inline
// and under `windage serve` as files.
export default defineConfig({
  plugins: [licences()],
  build: {
    target: "es2022",
    outDir: "../crates/windage-report/assets",
    emptyOutDir: true,
    cssCodeSplit: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/main.tsx",
      formats: ["iife"],
      name: "windage",
      fileName: () => "windage.js",
      cssFileName: "windage",
    },
  },
  // Those in `tests` are Playwright's. Style sheets are empty in tests but where their text is asked for.
  // The limit is for what hangs: a machine that does much else may take its time.
  test: { dir: "src", css: { include: [/\.css\?raw$/] }, testTimeout: 60_000 },
});
