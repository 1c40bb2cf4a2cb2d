// Prints the milliseconds from the navigation until a page is usable, each time in a new browser: node
// ready.mjs PAGE TIMES

import { resolve } from "node:path";

import { chromium } from "@playwright/test";

import { readyAfter } from "./readiness.mjs";

const [page, times] = process.argv.slice(2);
for (let i = 0; i < Number(times); i++) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  console.log(Math.round(await readyAfter(await browser.newPage(), `file://${resolve(page)}`)));
  await browser.close();
}
