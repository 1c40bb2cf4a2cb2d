// How long a page takes from the navigation until it can be used, in milliseconds, each time in a browser
// of its own: node ready.mjs PAGE TIMES

import { resolve } from "node:path";

import { chromium } from "@playwright/test";

import { readyAfter } from "./readiness.mjs";

const [page, times] = process.argv.slice(2);
for (let i = 0; i < Number(times); i++) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  console.log(Math.round(await readyAfter(await browser.newPage(), `file://${resolve(page)}`)));
  await browser.close();
}
