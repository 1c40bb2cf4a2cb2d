import { defineConfig } from "@playwright/test";

import { BROWSER } from "./tests/browser";

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  globalSetup: "./tests/runs.ts",
  workers: 1,
  retries: 0,
  // Enough for a busy machine; a test of its own measures the page's speed.
  timeout: 180_000,
  reporter: "list",
  // Pictures of whole pages test the layout: most of a page is white, so a moved element changes a small
  // share of it, and letters differ a little between browser releases. Parts of the page are compared by
  // pixel (tests/page.ts).
  expect: { timeout: 20_000, toHaveScreenshot: { maxDiffPixelRatio: 0.004, animations: "disabled", scale: "device" } },
  snapshotPathTemplate: "{testDir}/pictures/{arg}{ext}",
  use: {
    // An unusual time zone: pages show times in UTC everywhere.
    timezoneId: "Asia/Kathmandu",
    locale: "en-GB",
    launchOptions: {
      executablePath: BROWSER,
      args: ["--no-sandbox", "--font-render-hinting=none", "--disable-lcd-text"],
    },
  },
});
