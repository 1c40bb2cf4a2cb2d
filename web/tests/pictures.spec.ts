// How the page looks. A difference is looked at by a person.

import type { Locator, Page } from "@playwright/test";

import { drawn, expect, expectPart, expectPicture, open, test } from "./page";
import { pageOf } from "./runs";

type Scheme = "light" | "dark";

async function opened(page: Page, run: string, width: number, colorScheme: Scheme = "light"): Promise<void> {
  // High enough for any one part of it.
  await page.setViewportSize({ width, height: 1200 });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await open(page, pageOf(run));
  await drawn(page);
}

test.describe("as a whole", () => {
  test.use({ deviceScaleFactor: 0.2 });

  test("a run", async ({ watched: { page } }) => {
    await opened(page, "agents", 1280);
    await expectPicture(page, "agents");
  });
});

test.describe("part by part", () => {
  test.use({ deviceScaleFactor: 0.5 });

  /** What is drawn of one load, in order: its sections, and how many pictures each has. */
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

  test("all that is drawn of a sweep", async ({ watched: { page } }) => {
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

  test("what is said of a run with agents", async ({ watched: { page } }) => {
    await opened(page, "agents", 1280);
    await expectPart(page.locator("#figures .figures"), "agents-figures");
  });

  test("what is void, and why", async ({ watched: { page } }) => {
    await opened(page, "void", 1280);
    await expectPart(page.locator("#validity"), "void-validity");
  });

  test("the dark theme", async ({ watched: { page } }) => {
    await opened(page, "sweep", 1280, "dark");
    await expectPart(figure(page.locator("section.load").first(), "overhead"), "dark-overhead");
  });

  test("a telephone", async ({ watched: { page } }) => {
    await opened(page, "agents", 360);
    await expectPart(figure(page, "overhead"), "narrow-overhead");
    await expectPart(page.locator("#figures .figures"), "narrow-figures");
  });

  test("two runs compared", async ({ watched: { page } }) => {
    await opened(page, "comparison", 1280);
    await expectPart(page.locator("section.load").first().locator("figure"), "comparison-changes");
  });
});

/** A picture of a section, whose id ends so. */
function figure(within: Page | Locator, section: string, i = 0): Locator {
  return within.locator(`[id$=${section}].block figure`).nth(i);
}
