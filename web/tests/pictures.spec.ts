// The look of the page. A person has to judge any difference.

import type { Locator, Page } from "@playwright/test";

import { drawn, expect, expectPart, expectPicture, open, test } from "./page";
import { pageOf } from "./runs";

type Scheme = "light" | "dark";

async function opened(page: Page, run: string, width: number, colorScheme: Scheme = "light"): Promise<void> {
  // High enough for any single part.
  await page.setViewportSize({ width, height: 1200 });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await open(page, pageOf(run));
  await drawn(page);
}

test.describe("whole pages", () => {
  test.use({ deviceScaleFactor: 0.2 });

  test("a run", async ({ watched: { page } }) => {
    await opened(page, "agents", 1280);
    await expectPicture(page, "agents");
  });
});

test.describe("parts", () => {
  test.use({ deviceScaleFactor: 0.5 });

  /** The pictures of one load in order: sections, and the number of pictures of each. */
  const DRAWN = [
    ["overhead", 2],
    ["curves", 2],
    ["latency", 2],
    ["bill", 1],
    ["fidelity", 1],
    ["over-time", 2],
    ["scatter", 1],
    ["flames", 1],
  ] as const;

  test("all pictures of a sweep", async ({ watched: { page } }) => {
    await opened(page, "sweep", 1280);
    const load = page.locator("section.load").first();
    await expect(load.locator("figure")).toHaveCount(DRAWN.reduce((sum, [, pictures]) => sum + pictures, 0));
    for (const [section, pictures] of DRAWN) {
      // Curves are all of one kind.
      const kinds = section === "curves" ? 1 : pictures;
      for (let i = 0; i < kinds; i++) await expectPart(figure(load, section, i), `sweep-${section}${kinds > 1 ? `-${i + 1}` : ""}`);
    }
    await expectPart(figure(page, "by-rate"), "sweep-by-rate");
  });

  test("the figures of a run with agents", async ({ watched: { page } }) => {
    await opened(page, "agents", 1280);
    await expectPart(page.locator("#figures .figures"), "agents-figures");
  });

  test("a void run, and why", async ({ watched: { page } }) => {
    await opened(page, "void", 1280);
    await expectPart(page.locator("#validity"), "void-validity");
  });

  test("the dark theme", async ({ watched: { page } }) => {
    await opened(page, "sweep", 1280, "dark");
    await expectPart(figure(page.locator("section.load").first(), "overhead"), "dark-overhead");
  });

  test("a phone", async ({ watched: { page } }) => {
    await opened(page, "agents", 360);
    await expectPart(figure(page, "overhead"), "narrow-overhead");
    await expectPart(page.locator("#figures .figures"), "narrow-figures");
  });

  test("two runs compared", async ({ watched: { page } }) => {
    await opened(page, "comparison", 1280);
    await expectPart(page.locator("section.load").first().locator("figure"), "comparison-changes");
  });
});

/** The pictures of a section, by the end of its id. */
function figure(within: Page | Locator, section: string, i = 0): Locator {
  return within.locator(`[id$=${section}].block figure`).nth(i);
}
