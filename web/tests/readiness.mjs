// When a page becomes usable, by its own record: a measurement from outside may be late.

/**
 * Opens an address in a new page, and returns the milliseconds from the navigation until it is usable.
 *
 * @param {import("@playwright/test").Page} page
 * @param {string} url
 * @returns {Promise<number>}
 */
export async function readyAfter(page, url) {
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector("#windage[data-ready]")) window.readyAfter ??= performance.now();
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
  await page.goto(url);
  await page.waitForFunction(() => window.readyAfter !== undefined);
  return page.evaluate(() => window.readyAfter);
}
