import { defineConfig } from "@playwright/test";

// Debian's browser, which `cargo xtask test` installs: no download of another.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  globalSetup: "./tests/runs.ts",
  workers: 1,
  retries: 0,
  // What a machine that does much else may take; how fast a page is has a test of its own.
  timeout: 180_000,
  reporter: "list",
  // Whole pages are for what stands where: most of one is paper, so that what has moved is a small share of
  // it, and letters differ a little from one release of the browser to the next. Parts of it are compared
  // to the pixel (tests/page.ts).
  expect: { timeout: 20_000, toHaveScreenshot: { maxDiffPixelRatio: 0.004, animations: "disabled", scale: "device" } },
  snapshotPathTemplate: "{testDir}/pictures/{arg}{ext}",
  use: {
    // Nobody's own: times are told in UTC wherever a page is read.
    timezoneId: "Asia/Kathmandu",
    locale: "en-GB",
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--font-render-hinting=none", "--disable-lcd-text"],
    },
  },
});
