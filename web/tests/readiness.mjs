// When a page can be used, as it notes itself: whoever asks it from outside may be late.

/**
 * Opens an address in a page that is new, and returns how long it took from the navigation until it can be
 * used, in milliseconds.
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
