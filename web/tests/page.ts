// A page under test, and what must never happen on any.

import { fileURLToPath } from "node:url";

import AxeBuilder from "@axe-core/playwright";
import { type Locator, type Page, test as base, expect } from "@playwright/test";

/** What a page did that it must not: errors on the console, requests that leave it. */
interface Watched {
  page: Page;
  /** What stands on the console. */
  complaints: string[];
}

/** What a page says where it could not show something: it goes on without it, and without a word on the console. */
const GIVEN_UP = /[^.]*can’t be (?:drawn|shown)[^.]*/;

/** Every test ends with a look at what its page complained of, what it gave up, and whom it asked. */
export const test = base.extend<{ watched: Watched; allowed: RegExp }>({
  allowed: [/^(file|data|blob):/, { option: true }],
  watched: async ({ page, allowed }, use) => {
    const complaints: string[] = [];
    const outside: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!allowed.test(request.url())) outside.push(request.url());
    });
    await use({ page, complaints });
    expect(GIVEN_UP.exec((await page.locator("#windage").textContent()) ?? "")?.[0], "what the page gave up").toBeUndefined();
    expect(complaints, "nothing on the console").toEqual([]);
    expect(outside, "no request leaves the page").toEqual([]);
  },
});

/** Opens a page and waits until it can be used, what a server is asked for included. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await ready(page);
}

/** Waits until a page can be used, and no server is waited for. */
export async function ready(page: Page): Promise<void> {
  await expect(page.locator("#windage[data-ready]")).toBeVisible({ timeout: 60_000 });
  await expect(page.locator("main.instead").getByRole("status")).toHaveCount(0, { timeout: 60_000 });
}

/** Has all pictures drawn, those far below as well; those that are folded away are drawn once they are opened. */
export async function drawn(page: Page): Promise<void> {
  // Pictures that a page of the dashboard is only about to have hear it the next time.
  await expect(async () => {
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    const empty = await page.locator("figure .drawing").evaluateAll((places) =>
      places.filter((place) => place.clientWidth > 0 && !place.querySelector("svg")).map((place) => place.closest("figure")?.querySelector("figcaption")?.textContent));
    expect(empty, "pictures without a picture").toEqual([]);
  }).toPass({ timeout: 60_000 });
}

/** What is at fault on a page as it is shown now, for those who can't see it or not well. */
export async function barriers(page: Page, scheme: "light" | "dark"): Promise<string[]> {
  const builder = new AxeBuilder({ page });
  // Only what is about colours can differ from one theme to the other.
  if (scheme === "dark") builder.withRules(["color-contrast", "link-in-text-block"]);
  const { violations } = await builder.analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

/**
 * Presses Tab from the page's beginning to its end. Fails unless all that can be used was reached, in the
 * order in which it stands there, and whatever had the focus could be seen to have it.
 */
export async function expectWalked(page: Page): Promise<void> {
  const places = await page.evaluateHandle(usable);
  const names = await places.evaluate((all) => all.map((place) => `${place.tagName} ${place.ariaLabel ?? place.textContent.trim().slice(0, 40)}`));
  const [reached, unseen]: [string[], string[]] = [[], []];
  // As often as takes the focus past the last, with some for boxes that the browser itself lets one scroll.
  for (let i = 0; i < names.length + 50; i++) {
    await page.keyboard.press("Tab");
    const focused = await places.evaluate((all) => {
      const place = document.activeElement;
      if (!place || place === document.body) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(place);
      return { at: all.indexOf(place as HTMLElement), tag: place.tagName, isSeen: outlineStyle !== "none" && outlineWidth !== "0px" };
    });
    if (!focused) break;
    const name = names[focused.at] ?? `${focused.tag}, which is not to be used`;
    reached.push(name);
    if (!focused.isSeen) unseen.push(name);
  }
  expect(names.length, "what there is to be used").toBeGreaterThan(10);
  expect(reached).toEqual(names);
  expect(unseen, "the focus is not seen on").toEqual([]);
}

/** What can be used on the page as it is shown: of several radio buttons the one that is chosen. */
function usable(): HTMLElement[] {
  const all = [...document.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, summary, [tabindex]")];
  return all.filter((place) => {
    const isOn = place.tabIndex >= 0 && !place.matches(":disabled") && place.checkVisibility({ visibilityProperty: true });
    return isOn && (!(place instanceof HTMLInputElement) || place.type !== "radio" || place.checked);
  });
}

/** Opens all that is folded away. */
export async function unfolded(page: Page): Promise<void> {
  for (const details of await page.locator("details").all()) await details.evaluate((it: HTMLDetailsElement) => (it.open = true));
}

/** Fails if the page is wider than a telephone. */
export async function expectNarrow(page: Page, what: string): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth), what).toBeLessThanOrEqual(360);
}

/** A share as the page writes it: "+14.4 %" begins so. */
export const percent = (share: number) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)}`;

/** The row of a table that begins with this name. */
export const rowOf = (table: Locator, name: string) =>
  table.getByRole("row").filter({ has: table.page().getByRole("rowheader", { name, exact: true }) });

/** What makes pictures the same on every machine. */
const LETTERS = fileURLToPath(new URL("pictures.css", import.meta.url));

/**
 * Compares the whole page with its picture in `pictures`, but for the version of windage, which is another
 * at the next release. If a difference is meant, `npx playwright test --update-snapshots` takes it over.
 */
export async function expectPicture(page: Page, name: string): Promise<void> {
  const versions = [page.locator("dd").getByText(/windage \d+\.\d+\.\d+/), page.locator("dt:text-is('windage') + dd")];
  await expect(page).toHaveScreenshot(`${name}.png`, { fullPage: true, mask: versions, stylePath: LETTERS, timeout: 60_000 });
}

/**
 * Compares one part of a page with its picture. Apart from all others, since what stands above it would
 * move it by parts of a pixel; and with next to no tolerance (another processor may round a pixel or two otherwise),
 * since the line of an interval may be six of them and the band of what does not matter is hardly darker than paper.
 */
export async function expectPart(part: Locator, name: string): Promise<void> {
  await expect(part, name).toHaveCount(1);
  await part.evaluate((element) => {
    element.style.width = `${element.clientWidth}px`;
    element.classList.add("pictured");
  });
  await expect(part).toHaveScreenshot(`${name}.png`, { maxDiffPixels: 2, threshold: 0.05, stylePath: LETTERS, timeout: 60_000 });
  await part.evaluate((element) => element.classList.remove("pictured"));
}

export { expect };
