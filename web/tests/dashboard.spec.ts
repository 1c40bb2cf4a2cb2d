// `windage serve`: the list of runs, one run, two runs compared, history, and a run in progress.

import { readFileSync } from "node:fs";

import type { Page } from "@playwright/test";

import { barriers, drawn, expect, expectNarrow, expectPart, expectPicture, lacking, open, percent, printed, ready, rowOf, standingStill, unfolded } from "./page";
import { TWICE, compared, pageOf } from "./runs";
import { asked, test } from "./serving";

const list = (page: Page) => page.getByRole("region", { name: "Runs, the newest first" });

/** The row of a run, by the name of its directory. */
const line = (page: Page, name: string) => list(page).getByRole("row").filter({ hasText: name });

/** The answer on a run's page, in words. */
const answers = (page: Page) => page.locator("main .answer").allInnerTexts();

/** Waits for the page with this title, which the server may have to make; the old page stays until the address changes. */
const arrived = (page: Page, title: string) => expect(page.getByRole("heading", { level: 1 })).toHaveText(title, { timeout: 60_000 });

/** The list once every run was read. */
async function opened(page: Page, url: string): Promise<void> {
  await open(page, url);
  await expect(list(page).locator("tbody tr")).toHaveCount(11, { timeout: 40_000 });
  await expect(page.getByText("still being read")).toHaveCount(0, { timeout: 40_000 });
}

test("all runs are listed, the newest first, each with its state", async ({ watched: { page }, served }) => {
  await opened(page, served.at("/"));
  await expect(page.locator("main")).toContainText(`11 in ${served.directory}`);
  const dated = await list(page).locator("tbody th .name").allInnerTexts();
  expect(dated).toHaveLength(10);
  expect(dated).toEqual([...dated].sort().reverse());
  await expect(list(page)).not.toContainText("no-run");

  for (const [run, state] of [
    ["20260113-090000-agents", "valid"],
    ["20260112-090000-sweep", "suspect"],
    ["20260115-090000-void", "void"],
    ["20260116-090000-empty", "broke off"],
    ["damaged", "unreadable"],
  ] as const) {
    await expect(line(page, run).getByRole("cell").filter({ hasText: state }), run).toHaveCount(1);
  }
  await expect(line(page, "20260113-090000-agents")).toContainText("agent +50.1 %");
  await expect(line(page, "20260115-090000-void")).not.toContainText("%");
  const damaged = line(page, "damaged");
  await expect(damaged).toContainText("manifest.json is damaged");
  await expect(damaged.getByRole("checkbox")).toBeDisabled();
  await expect(damaged.getByRole("link")).toHaveCount(0);
});

test("runs are found by name and by words", async ({ watched: { page }, served }) => {
  await opened(page, served.at("/"));
  const find = page.getByRole("searchbox", { name: "Find" });
  const lines = list(page).locator("tbody tr");
  await find.fill("sweep");
  await expect(lines).toHaveCount(2);
  await find.fill("SWEEP 20260112");
  await expect(lines).toHaveCount(1);
  await find.fill("void");
  await expect(line(page, "20260115-090000-void")).toBeVisible();
  await find.fill("no such run");
  await expect(lines).toHaveCount(0);
  await expect(page.getByText("No run has “no such run” in it.")).toBeVisible();
  await find.fill("");
  await expect(lines).toHaveCount(11);
});

test("a run shows the same as its file, and links back to the list", async ({ watched: { page }, served, browser }) => {
  await opened(page, served.at("/"));
  await expect(page, "the token is in the cookie").toHaveURL(`${served.origin}/`);
  await line(page, "20260113-090000-agents").getByRole("link").click();
  await arrived(page, "agents");
  await expect(page).toHaveURL(`${served.origin}/runs/20260113-090000-agents`);
  const shown = await answers(page);
  expect(shown).not.toEqual([]);
  const headings = await page.locator("main h2").allTextContents();
  const primary = await page.getByRole("table", { name: "CPU per request", exact: true }).innerText();

  const context = await browser.newContext();
  const file = await context.newPage();
  await open(file, pageOf("agents"));
  expect(shown).toEqual(await answers(file));
  expect(headings).toEqual(await file.locator("main h2").allTextContents());
  expect(primary).toEqual(await file.getByRole("table", { name: "CPU per request", exact: true }).innerText());
  await context.close();

  await page.goBack();
  await expect(list(page)).toBeVisible();
  await page.goForward();
  await arrived(page, "agents");
  await page.getByRole("link", { name: "All runs" }).click();
  await expect(list(page)).toBeVisible();
});

test("a run can be saved as a self-contained file", async ({ watched: { page }, served, browser }) => {
  await open(page, served.at("/runs/20260113-090000-agents"));
  await arrived(page, "agents");
  const shown = await answers(page);
  expect(shown).not.toEqual([]);
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: "Report as a file" }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe("20260113-090000-agents.html");
  const context = await browser.newContext({ offline: true });
  const file = await context.newPage();
  await file.setContent(readFileSync(await download.path(), "utf8"));
  await ready(file);
  expect(await answers(file)).toEqual(shown);
  await context.close();
});

test("two ticked runs are compared", async ({ watched: { page }, served }) => {
  await opened(page, served.at("/"));
  const [a, b] = TWICE;
  await page.getByRole("checkbox", { name: `Compare ${a}` }).check();
  await expect(page.getByText("tick another to compare with it")).toBeVisible();
  await page.getByRole("checkbox", { name: `Compare ${b}` }).check();
  await page.getByRole("link", { name: `Compare ${a} and ${b}` }).click();
  await arrived(page, "sweep, two runs compared");

  for (const [i, load] of compared().loads.entries()) {
    const table = page.locator("section.load").nth(i).getByRole("table", { name: "CPU per request", exact: true });
    const increased = load.arms.find((arm) => arm.metrics[load.primary]?.verdict === "increased");
    const change = increased?.metrics[load.primary]?.change?.relative;
    if (!increased || !change) throw new Error("no arm has increased");
    const row = rowOf(table, increased.name);
    await expect(row).toContainText(percent(change.estimate));
    await expect(row).toContainText(`${percent(change.low)} to ${percent(change.high)}`);
    await expect(row).toContainText("increased");
  }

  await page.getByRole("link", { name: "Swap A and B" }).click();
  await expect(page.getByRole("link", { name: `A: ${b}` })).toBeVisible();
  await expect(page.getByRole("table", { name: "CPU per request", exact: true }).first()).toContainText("decreased", { timeout: 60_000 });
  await page.goBack();
  await expect(page.getByRole("link", { name: `A: ${a}` })).toBeVisible();
  await page.goBack();
  await expect(list(page)).toBeVisible();
});

/** The history of the invented results of `serving.ts`. */
const course = (page: Page) => page.locator("section").filter({ has: page.getByRole("heading", { name: "shop" }) });

test("history shows the results of runs, and where their level changed", async ({ watched: { page }, served }) => {
  await opened(page, served.at("/"));
  await page.getByRole("link", { name: "History of results" }).click();
  await arrived(page, "History");
  await drawn(page);
  const picture = course(page).getByRole("img", { name: "Difference from the baseline: CPU per request" });
  await expect(picture).toBeVisible();
  await expect(picture).toHaveAccessibleDescription(/zipkin: 40 results, the newest \+6\.2 % .*; no change of the level/);
  await expect(course(page).getByRole("listitem").filter({ hasText: "2026-01-29, otel: up from +8.4 % to +11.2 %" })).toContainText(
    "windage check PLAN --base 273456789 --head 283456789",
  );
  await expect(rowOf(course(page).getByRole("table", { name: "Newest results" }), "otel")).toContainText("393456789");

  await page.getByLabel("Metric").selectOption("CPU per request");
  await expect(page).toHaveURL(`${served.origin}/history/cpu_per_request`);
  await expect(picture).toBeVisible();
});

test("nothing is shown without the token", async ({ watched: { page, complaints }, served }) => {
  const answer = await page.goto(`${served.origin}/`);
  expect(answer?.status()).toBe(401);
  await expect(page.locator("body")).toContainText("open the URL that `windage serve` printed");
  await page.setContent("<div id=windage></div>");
  complaints.splice(0);
});

for (const [path, waitedFor] of [
  ["/", "20260113-090000-agents"],
  ["/runs/20260113-090000-agents", "agent costs 50.1 %"],
  [`/compare/${TWICE.join("/")}`, "sweep, two runs compared"],
  ["/history", "otel: up from"],
] as const) {
  test(`the first picture is whole: ${path}`, async ({ watched: { page }, served }) => {
    // Whatever the script requests, is not answered.
    await page.route("**/api/**", () => undefined);
    expect(await lacking(page, served.at(path), waitedFor)).toEqual([]);
  });
}

test("pages end under virtual time", ({ served }) => {
  for (const path of ["/", "/runs/20260113-090000-agents", `/compare/${TWICE.join("/")}`, "/history"]) {
    expect(printed(served.at(path)), path).toContain('data-ready="true"');
  }
});

test("a missing run is reported", async ({ watched: { page, complaints }, served }) => {
  await open(page, served.at(`/runs/${encodeURIComponent("../20260113-090000-agents")}`));
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByRole("link", { name: "All runs" }).click();
  await expect(list(page)).toBeVisible();
  // The browser itself may log a 404.
  for (const logged of complaints.splice(0)) expect(logged).toContain("404");
});

test("harmful names are shown as text", async ({ watched: { page }, served }) => {
  const name = "20260118-090000-hostile";
  await opened(page, served.at("/"));
  await expect(line(page, name).getByRole("link")).toHaveText("</title></script><script>document.title='harmed'</script>");
  expect(await list(page).innerText()).not.toMatch(/[\u0007\u001b\u202e]/);
  await line(page, name).getByRole("link").click();
  await arrived(page, "</title></script><script>document.title='harmed'</script>");
  await drawn(page);
  await unfolded(page);
  expect(await page.title()).not.toBe("harmed");
  expect(await page.locator("img[src=x]").count()).toBe(0);
  expect(await page.locator("main").innerText()).not.toMatch(/[\u0007\u001b\u202e]/);
});

test("the list can be used by keyboard", async ({ watched: { page }, served }) => {
  await opened(page, served.at("/"));
  await page.getByRole("searchbox", { name: "Find" }).focus();
  await page.keyboard.type("agents");
  await expect(list(page).locator("tbody tr")).toHaveCount(1);
  await page.keyboard.press("Tab");
  await expect(list(page)).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await expect(page.getByRole("checkbox", { name: "Compare 20260113-090000-agents" })).toBeChecked();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await arrived(page, "agents");
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious: list, comparison and history, ${scheme}`, async ({ watched: { page }, served }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await opened(page, served.at("/"));
    expect(await barriers(page, scheme)).toEqual([]);
    await page.goto(served.at(`/compare/${TWICE.join("/")}`));
    await arrived(page, "sweep, two runs compared");
    await drawn(page);
    expect(await barriers(page, scheme)).toEqual([]);
    await page.goto(served.at("/history"));
    await arrived(page, "History");
    await drawn(page);
    expect(await barriers(page, scheme)).toEqual([]);
  });
}

test("nothing is wider than a phone", async ({ watched: { page }, served }) => {
  await page.setViewportSize({ width: 360, height: 800 });
  await opened(page, served.at("/"));
  await expectNarrow(page, "list");
  for (const name of TWICE) await page.getByRole("checkbox", { name: `Compare ${name}` }).check();
  await expectNarrow(page, "list, two ticked");
  await page.goto(served.at(`/compare/${TWICE.join("/")}`));
  await arrived(page, "sweep, two runs compared");
  await drawn(page);
  await expectNarrow(page, "comparison");
  await page.goto(served.at("/history"));
  await arrived(page, "History");
  await drawn(page);
  await expectNarrow(page, "history");
});

test.describe("pictures", () => {
  test.use({ deviceScaleFactor: 0.5 });

  test("the list", async ({ watched: { page }, served }) => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await opened(page, served.at("/"));
    // The directory differs each time.
    await page.locator("main > p > code, .problem").evaluateAll((places) => places.forEach((place) => (place.textContent = "somewhere")));
    await expectPicture(page, "list-light-1280");
  });

  test("the history", async ({ watched: { page }, served }) => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await open(page, served.at("/history"));
    await drawn(page);
    await expectPart(course(page), "history");
  });
});

test("a run in progress is followed to its end", async ({ watched: { page }, served, begin }) => {
  test.setTimeout(600_000);
  await opened(page, served.at("/"));
  const demo = begin("live");
  // Nothing is reloaded: the server sends events.
  await expect(line(page, "live")).toContainText("in progress", { timeout: 60_000 });
  await line(page, "live").getByRole("link").click();
  const progress = page.getByRole("region", { name: "Progress" });
  await expect(progress).toContainText("In progress: round", { timeout: 60_000 });
  await expect(page.getByText("This run is still going on")).toBeVisible();
  const blocks = async () => Number(await progress.getByRole("progressbar").getAttribute("value"));
  const before = await blocks();
  await expect.poll(blocks, { timeout: 60_000 }).toBeGreaterThan(before);
  const figures = page.getByRole("table", { name: "CPU per request", exact: true });
  await expect(figures).toBeVisible({ timeout: 120_000 });
  const early = await figures.innerText();
  await standingStill(page, async () => expect(await barriers(page, "light")).toEqual([]));
  // The server rests for many times the CPU that a read took.
  await expect(figures).not.toHaveText(early, { timeout: 200_000, useInnerText: true });

  // Like Ctrl-C.
  expect(await asked(demo, "SIGINT")).toBe(130);
  await expect(progress).toHaveCount(0, { timeout: 40_000 });
  await expect(page.locator("main .state")).toHaveCount(0);
  await expect(page.locator("main .answer .badge")).toHaveText(/suspect|void/);
  await expect(page.locator("#validity")).toContainText("The run was interrupted.");
  await page.getByRole("link", { name: "All runs" }).click();
  await expect(line(page, "live").getByRole("cell").filter({ hasText: /suspect|void/ })).toHaveCount(1, { timeout: 40_000 });
  await expect(line(page, "live")).not.toContainText(/in progress|broke off/);
  await expect(list(page).locator("tbody tr")).toHaveCount(12);
});
