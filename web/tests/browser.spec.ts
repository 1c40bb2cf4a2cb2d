// A page that never returns ends with its browser.

import { chromium } from "@playwright/test";

import { BROWSER, endBrowserAfter, launched } from "./browser";
import { expect, test } from "./page";

test("a page that spins is ended with its browser", async () => {
  const others = launched();
  const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
  const own = launched().filter((pid) => !others.includes(pid));
  expect(own).toHaveLength(1);
  const page = await browser.newPage();
  const spinning = page.evaluate(() => {
    for (;;);
  });
  const isOver = endBrowserAfter(() => 500, own);
  await expect(spinning).rejects.toThrow(/closed/);
  isOver();
  await expect.poll(() => launched()).toEqual(others);
});
