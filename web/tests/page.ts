// A page under test, and checks that apply to every page.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import AxeBuilder from "@axe-core/playwright";
import { type Locator, type Page, test as base, expect } from "@playwright/test";

import { BROWSER, endBrowserAfter, launched } from "./browser";

/** Forbidden actions of a page: errors on the console, requests to other hosts. */
interface Watched {
  page: Page;
  /** The messages on the console. */
  complaints: string[];
}

/** Texts with which a page replaces something that it could not show; these are not on the console. */
const GIVEN_UP = /[^.]*can’t be (?:drawn|shown)[^.]*/;

/** How long Playwright may take to end a test that is over its limit, in milliseconds. */
const GRACE = 10_000;

/** Every test has a limit that ends its browser, and ends with a check of the page's console, its failures and its requests. */
export const test = base.extend<{ watched: Watched; allowed: RegExp; limit: undefined }>({
  limit: [
    async ({ browser: _ }, use, info) => {
      // A test may set its own limit later.
      const isOver = endBrowserAfter(() => info.timeout + GRACE, launched());
      await use(undefined);
      isOver();
    },
    { auto: true },
  ],
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

/** Opens a page and waits until it is usable, including requests to a server. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await ready(page);
}

/** Waits until a page is usable and no request is pending. */
export async function ready(page: Page): Promise<void> {
  await expect(page.locator("#windage[data-ready]")).toBeVisible({ timeout: 60_000 });
  await expect(page.locator("main.instead").getByRole("status")).toHaveCount(0, { timeout: 60_000 });
}

/** Draws all pictures, including those far below; folded ones are drawn when they are opened. */
export async function drawn(page: Page): Promise<void> {
  // Pictures that a dashboard page is about to add are drawn on the next try.
  await expect(async () => {
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    const empty = await page.locator("figure .drawing").evaluateAll((places) =>
      places.filter((place) => place.clientWidth > 0 && !place.querySelector("svg")).map((place) => place.closest("figure")?.querySelector("figcaption")?.textContent));
    expect(empty, "empty pictures").toEqual([]);
  }).toPass({ timeout: 60_000 });
}

/** Elements that are much larger than a page, or far from it. */
async function farOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const FAR = 100_000;
    const isFar = ({ left, right, top, bottom }: DOMRect) => !([-left, right, -top, bottom].every((to) => to < FAR));
    const far = [...document.querySelectorAll("body *")].filter((place) => [...place.getClientRects()].some(isFar));
    return far.map((place) => `${place.tagName} of “${place.closest("figure, section")?.textContent.slice(0, 60)}” reaches too far`);
  });
}

/** Accessibility violations on the page as shown now. */
export async function barriers(page: Page, scheme: "light" | "dark"): Promise<string[]> {
  // Axe would go over such an element in steps of 200 pixels, for hours.
  const far = await farOff(page);
  if (far.length > 0) return far;
  const builder = new AxeBuilder({ page });
  // Only rules about colours can differ between themes.
  if (scheme === "dark") builder.withRules(["color-contrast", "link-in-text-block"]);
  const { violations } = await builder.analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

/**
 * Presses Tab from the beginning of the page to its end. Fails unless everything usable was reached in its
 * order on the page, and the focus was always visible.
 */
export async function expectWalked(page: Page): Promise<void> {
  const places = await page.evaluateHandle(usable);
  const names = await places.evaluate((all) => all.map((place) => `${place.tagName} ${place.ariaLabel ?? place.textContent.trim().slice(0, 40)}`));
  const [reached, unseen]: [string[], string[]] = [[], []];
  // Enough to move the focus past the last element, with some for boxes that the browser makes scrollable.
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
  expect(names.length, "usable elements").toBeGreaterThan(10);
  expect(reached).toEqual(names);
  expect(unseen, "the focus is invisible on").toEqual([]);
}

/** The usable elements of the page as shown; of several radio buttons, the selected one. */
function usable(): HTMLElement[] {
  const all = [...document.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, summary, [tabindex]")];
  return all.filter((place) => {
    const isOn = place.tabIndex >= 0 && !place.matches(":disabled") && place.checkVisibility({ visibilityProperty: true });
    return isOn && (!(place instanceof HTMLInputElement) || place.type !== "radio" || place.checked);
  });
}

/** Does something while the page gets no news, as in a hidden tab: it must not change under a tool that measures it. */
export async function standingStill(page: Page, act: () => Promise<void>): Promise<void> {
  const hide = (isHidden: boolean) =>
    page.evaluate((to) => {
      Object.defineProperty(document, "hidden", { value: to, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await hide(true);
  await act();
  await hide(false);
}

/** What a page lacks of a whole first picture, when its own script has run once: this text, and each picture in the window. */
export async function lacking(page: Page, url: string, text: string): Promise<string[]> {
  await page.addInitScript((sought) => {
    document.addEventListener("DOMContentLoaded", () => {
      const visible = [...document.querySelectorAll("figure .drawing")].filter((place) => place.clientWidth > 0 && place.getBoundingClientRect().top < innerHeight);
      const empty = visible.filter((place) => !place.querySelector("svg")).map((place) => place.closest("figure")?.querySelector("figcaption")?.textContent ?? "");
      const main = document.querySelector("main")?.innerText ?? "";
      window.lacking = main.includes(sought) ? empty : [`${sought} in: ${main.slice(0, 200)}`, ...empty];
    });
  }, text);
  await page.goto(url);
  return page.evaluate(() => window.lacking ?? ["the page was not loaded"]);
}

declare global {
  interface Window {
    lacking?: string[];
  }
}

/** The page as the browser prints it once its virtual time is over. */
export function printed(url: string): string {
  const words = ["--headless", "--no-sandbox", "--virtual-time-budget=5000", "--dump-dom", url];
  return execFileSync(BROWSER, words, { encoding: "utf8", maxBuffer: 64 << 20, stdio: ["ignore", "pipe", "ignore"], timeout: 120_000, killSignal: "SIGKILL" });
}

/** Opens all folded details. */
export async function unfolded(page: Page): Promise<void> {
  for (const details of await page.locator("details").all()) await details.evaluate((it: HTMLDetailsElement) => (it.open = true));
}

/** Fails if the page is wider than a phone. */
export async function expectNarrow(page: Page, what: string): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth), what).toBeLessThanOrEqual(360);
}

/** A share as on the page: the beginning of "+14.4 %". */
export const percent = (share: number) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)}`;

/** The row of a table with this row header. */
export const rowOf = (table: Locator, name: string) =>
  table.getByRole("row").filter({ has: table.page().getByRole("rowheader", { name, exact: true }) });

/** Settings that make pictures the same on every machine. */
const LETTERS = fileURLToPath(new URL("pictures.css", import.meta.url));

/**
 * Compares the whole page with its picture in `pictures`, except for the version of windage, which changes
 * with every release. If a difference is intended, update the picture with `npx playwright test
 * --update-snapshots`.
 */
export async function expectPicture(page: Page, name: string): Promise<void> {
  const versions = [page.locator("dd").getByText(/windage \d+\.\d+\.\d+/), page.locator("dt:text-is('windage') + dd")];
  await expect(page).toHaveScreenshot(`${name}.png`, { fullPage: true, mask: versions, stylePath: LETTERS, timeout: 60_000 });
}

/**
 * Compares one part of a page with its picture, isolated, because content above would move it by fractions of
 * a pixel. The tolerance is minimal (another processor may round a pixel or two differently), because an
 * interval's line may have six pixels and the margin's band is hardly darker than paper.
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
