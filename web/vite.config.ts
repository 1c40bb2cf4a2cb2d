import { defineConfig } from "vitest/config";

import { licences } from "./licences.ts";

// One script and one style sheet with fixed names: the binary embeds both, inline in the report and as files
// under `windage serve`.
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
  // Tests in `tests` are Playwright's. Style sheets are empty in tests unless imported as text. The limit is
  // for tests that hang, and generous for busy machines.
  test: { dir: "src", css: { include: [/\.css\?raw$/] }, testTimeout: 60_000 },
});
