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

test.describe("pages as a whole, at three widths, in both themes", () => {
  test.use({ deviceScaleFactor: 0.2 });

  for (const scheme of ["light", "dark"] as const) {
    for (const width of [360, 800, 1280]) {
      test(`a run, ${scheme}, ${width} pixels`, async ({ watched: { page } }) => {
        await opened(page, "agents", width, scheme);
        await expectPicture(page, `agents-${scheme}-${width}`);
      });
    }
  }

  test("two runs compared", async ({ watched: { page } }) => {
    await opened(page, "comparison", 1280);
    await expectPicture(page, "comparison-light-1280");
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
      for (let i = 0; i < pictures; i++) await expectPart(figure(load, section, i), `sweep-${section}${pictures > 1 ? `-${i + 1}` : ""}`);
    }
    await expectPart(figure(page, "by-rate"), "sweep-by-rate");
  });

  test("what is said of a run with agents", async ({ watched: { page } }) => {
    await opened(page, "agents", 1280);
    await expectPart(page.locator(".answer"), "agents-answer");
    await expectPart(page.locator("#figures .figures"), "agents-figures");
    await expectPart(figure(page, "bill"), "agents-bill");
  });

  test("what is void, and why", async ({ watched: { page } }) => {
    await opened(page, "void", 1280);
    await expectPart(page.locator(".answer"), "void-answer");
    await expectPart(page.locator("#validity"), "void-validity");
  });

  test("the dark theme", async ({ watched: { page } }) => {
    await opened(page, "sweep", 1280, "dark");
    const load = page.locator("section.load").first();
    for (const [section, i] of [["overhead", 0], ["bill", 0], ["over-time", 0]] as const) await expectPart(figure(load, section, i), `dark-${section}`);
  });

  test("a telephone", async ({ watched: { page } }) => {
    await opened(page, "agents", 360);
    for (const section of ["overhead", "bill", "fidelity"]) await expectPart(figure(page, section), `narrow-${section}`);
    await expectPart(page.locator("#figures .figures"), "narrow-figures");
  });

  test("two runs compared", async ({ watched: { page } }) => {
    await opened(page, "comparison", 1280);
    await expectPart(page.locator("section.load").first().locator("figure"), "comparison-changes");
    await expectPart(page.locator("#differs figure, #differs .figures").first(), "comparison-differs");
  });
});

/** A picture of a section, whose id ends so. */
function figure(within: Page | Locator, section: string, i = 0): Locator {
  return within.locator(`[id$=${section}].block figure`).nth(i);
}
