// How long a page takes from the navigation until it can be used, in milliseconds, each time in a browser
// of its own: node ready.mjs PAGE TIMES

import { resolve } from "node:path";

import { chromium } from "@playwright/test";

const [page, times] = process.argv.slice(2);
for (let i = 0; i < Number(times); i++) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const opened = await browser.newPage();
  await opened.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector("#windage[data-ready]")) window.readyAfter ??= performance.now();
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
  await opened.goto(`file://${resolve(page)}`);
  await opened.waitForFunction(() => window.readyAfter !== undefined);
  console.log(await opened.evaluate(() => Math.round(window.readyAfter)));
  await browser.close();
}
