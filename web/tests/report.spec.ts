// The report as a file: every section exists and matches analysis.json.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import type { PageDocument } from "../src/document";
import { documentOf, pageWith, textOf } from "./documents";
import { barriers, drawn, expect, expectNarrow, expectWalked, lacking, open, percent, ready, rowOf, test, unfolded } from "./page";
import { readyAfter } from "./readiness.mjs";
import { analysed, pageOf } from "./runs";

test("the sections of a run are in order, from the answer to the provenance", async ({ watched: { page } }) => {
  await open(page, pageOf("agents"));
  const headings = await page.locator("main h2").allTextContents();
  const expected = ["Overhead by arm", "Figures", "Latency by percentile", "The bill", "Fidelity", "Over time", "Where the scatter comes from", "Further figures", "Validity", "Windage's own cost", "Provenance"];
  const places = expected.map((heading) => headings.indexOf(heading));
  expect(places, headings.join(" | ")).toEqual([...places].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
});

test("bands of any width leave a page that can be measured", async ({ watched: { page } }) => {
  const document = documentOf<PageDocument>("agents");
  const points = document.loads.flatMap((load) => load.latency).flatMap((latency) => latency.differences).flatMap((of) => of.points);
  expect(points.length).toBeGreaterThan(0);
  for (const { relative } of points) Object.assign(relative, { low: -1, high: 1e30 });
  await page.setContent(pageWith("agents", document));
  await ready(page);
  await drawn(page);
  expect(await barriers(page, "light")).toEqual([]);
});

test("a sweep under two loads has curves under each, and flame graphs of its profiles", async ({ watched: { page } }) => {
  await open(page, pageOf("sweep"));
  const { loads } = documentOf<PageDocument>("sweep");
  expect(loads.length).toBe(1 + analysed("sweep").other_loads.length);
  expect(loads.map((load) => load.flame_graphs.length)).toEqual([1, 0]);
  await expect(page.locator("section.load")).toHaveCount(loads.length);
  for (const [i, { flame_graphs: graphs }] of loads.entries()) {
    const place = page.locator("section.load").nth(i);
    await expect(place.getByRole("heading", { name: "Over the swept factor", exact: true })).toBeVisible();
    await expect(place.getByRole("heading", { name: "Flame graphs", exact: true })).toHaveCount(Math.min(graphs.length, 1));
    await expect(place.locator(".flame")).toHaveCount(graphs.length);
    for (const { title } of graphs) {
      const picture = place.getByRole("region", { name: title });
      // Its frames, and their names as text.
      expect(await picture.locator("svg rect").count()).toBeGreaterThan(5);
      await expect(picture.locator("svg title").filter({ hasText: "sdk.export" }).first()).toBeAttached();
    }
  }
});

test("figures match analysis.json", async ({ watched: { page } }) => {
  await open(page, pageOf("agents"));
  await drawn(page);
  const analysis = analysed("agents");
  const words = await page.locator("main figure").first().locator("p.unseen").textContent();
  const arms = analysis.arms.filter((arm) => arm.role !== "baseline");
  for (const arm of arms) {
    const relative = arm.metrics[analysis.primary]?.relative;
    expect(words).toContain(arm.name);
    if (relative) expect(words).toContain(percent(relative.estimate));
  }
  const table = page.getByRole("table", { name: "CPU per request", exact: true });
  for (const arm of arms) {
    await expect(rowOf(table, arm.name)).toContainText(percent(arm.metrics[analysis.primary]?.relative?.estimate ?? 0));
  }
});

test("tables are sorted by their headings, and back again", async ({ watched: { page } }) => {
  await open(page, pageOf("sweep"));
  const table = page.getByRole("table", { name: "CPU per request", exact: true }).first();
  const names = () => table.locator("tbody th").allTextContents();
  const before = await names();
  const heading = table.getByRole("button", { name: "Δ %" });
  await heading.click();
  const column = table.locator("thead th").filter({ hasText: "Δ %" });
  await expect(column).toHaveAttribute("aria-sort", /^(ascending|descending)$/);
  const first = await column.getAttribute("aria-sort");
  await expect.poll(names).not.toEqual(before);
  await heading.click();
  await expect(column).not.toHaveAttribute("aria-sort", first ?? "");
  await heading.click();
  await expect.poll(names).toEqual(before);
});

test("pictures are saved as SVG and PNG, tables as CSV", async ({ watched: { page } }) => {
  await open(page, pageOf("agents"));
  const save = async (name: string, within = page.locator("figure").first()) => {
    const coming = page.waitForEvent("download");
    await within.getByRole("button", { name, exact: true }).click();
    const download = await coming;
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  };
  const svg = await save("SVG");
  expect(svg.name).toMatch(/^20260113-090000-agents-.*\.svg$/);
  const text = svg.bytes.toString();
  expect(text).toContain("<svg");
  expect(text).toContain("bystander");
  expect(text).not.toContain("var(--");
  expect(text).not.toContain("<script");
  const png = await save("PNG");
  expect(png.bytes.subarray(1, 4).toString()).toBe("PNG");
  expect(png.bytes.length).toBeGreaterThan(5_000);
  const csv = await save("CSV");
  expect(csv.bytes.toString().split("\r\n").length).toBeGreaterThan(3);
  const table = await save("Save “CPU per request” as CSV", page.locator("main"));
  expect(table.bytes.toString()).toContain("bystander");
});

test("every picture can be drawn and has a description", async ({ watched: { page } }) => {
  for (const run of ["agents", "sweep", "batch"]) {
    await open(page, pageOf(run));
    await drawn(page);
    for (const figure of await page.locator("main figure").all()) {
      const title = (await figure.locator("figcaption").textContent()) ?? "";
      // A ready-made picture (a flame graph) is described by its note.
      const isDrawn = (await figure.locator(".drawing").count()) > 0;
      const words = (await figure.locator(isDrawn ? "p.unseen" : "p.note").first().textContent()) ?? "";
      expect(words.length, title).toBeGreaterThan(20);
      expect(words, title).not.toMatch(/NaN|undefined|null|Infinity/);
    }
    const text = await page.locator("main").innerText();
    expect(text).not.toMatch(/\bNaN\b|\bundefined\b|Infinity/);
  }
});

test("a link skips everything before the answer", async ({ watched: { page } }) => {
  await open(page, pageOf("agents"));
  await page.keyboard.press("Tab");
  await expect(page.locator(":focus")).toHaveText(/skip/i);
  await page.keyboard.press("Enter");
  await expect(page.locator(":focus")).toHaveId("answer");
});

for (const run of ["agents", "sweep"]) {
  test(`everything can be reached by keyboard: ${run}`, async ({ watched: { page } }) => {
    // There are many elements to tab through.
    if (run === "sweep") test.slow();
    await open(page, pageOf(run));
    await drawn(page);
    await expectWalked(page);
  });
}

for (const scheme of ["light", "dark"] as const) {
  for (const run of ["agents", "sweep", "void", "empty", "hostile", "missing"]) {
    test(`axe finds nothing serious: ${run}, ${scheme}`, async ({ watched: { page } }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await open(page, pageOf(run));
      await drawn(page);
      expect(await barriers(page, scheme)).toEqual([]);
    });
  }
}

test("harmful names are shown as text", async ({ watched: { page } }) => {
  await open(page, pageOf("hostile"));
  await drawn(page);
  await unfolded(page);
  expect(await page.title()).not.toBe("harmed");
  const table = page.getByRole("table", { name: "CPU per request", exact: true });
  await expect(table.getByRole("rowheader", { name: "<script>document.title = 'harmed'</script>" })).toBeVisible();
  expect(await page.locator("img[src=x]").count()).toBe(0);
  const text = await page.locator("main").innerText();
  expect(text).toContain("</title></script><script>");
  expect(text).not.toMatch(/[\u0007\u001b\u202e]/);
});

test("parts of a flame graph that could run or fetch are removed", async ({ watched: { page, complaints } }, testInfo) => {
  const document = documentOf<PageDocument>("sweep");
  const graph = document.loads[0]?.flame_graphs[0];
  if (!graph) throw new Error("no flame graph");
  graph.svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 100" onload="document.title='harmed'">
    <style>@import url(https://example.invalid/a.css); rect { fill: red }</style>
    <style>text { font-family: monospace }</style>
    <script>document.title = 'harmed'</script>
    <g><script href="https://example.invalid/a.js"/><rect id="kept" width="40" height="10" onclick="document.title='harmed'" style="fill:url(https://example.invalid/a.svg#p)"/></g>
    <image href="https://example.invalid/a.png" width="9" height="9"/>
    <use xlink:href="https://example.invalid/a.svg#g"/>
    <foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="https://example.invalid/"/></foreignObject>
    <a href="javascript:document.title='harmed'"><text y="30">leads away</text></a>
    <rect width="9" height="9"><set attributeName="onclick" to="document.title='harmed'"/></rect>
    <text y="50">kept</text></svg>`;
  const file = testInfo.outputPath("hostile.html");
  writeFileSync(file, pageWith("sweep", document));
  await open(page, pathToFileURL(file).href);
  const picture = page.getByRole("region", { name: graph.title }).locator("> svg");
  await expect(picture).toBeVisible();
  await picture.locator("#kept").click();
  const parts = await picture.evaluate((svg) => [svg, ...svg.querySelectorAll("*")].map((part) => [part.localName, ...part.getAttributeNames().filter((name) => !name.startsWith("xmlns"))].join(" ")));
  expect(parts).toEqual(["svg viewBox", "style", "g", "rect id width height", "rect width height", "text y"]);
  expect(await page.title()).not.toBe("harmed");
  // The browser itself logs both handlers when it parses them, before they can be removed.
  expect(complaints.splice(0)).toEqual([expect.stringContaining("inline event handler"), expect.stringContaining("inline event handler")]);
});

test.describe("missing content is explained", () => {
  test("void", async ({ watched: { page } }) => {
    await open(page, pageOf("void"));
    await drawn(page);
    await expect(page.locator(".answer .badge")).toHaveText("void");
    const [tables, pictures] = [page.locator("main .figures"), page.locator("main .drawing")];
    expect(await pictures.count()).toBeGreaterThan(0);
    await expect(page.locator("main .drawing[data-stamp=void]")).toHaveCount(await pictures.count());
    expect(await tables.count()).toBeGreaterThan(0);
    await expect(tables.locator(".stamp").filter({ hasText: "void" })).toHaveCount(await tables.count());
  });

  for (const [run, expectedText] of [
    ["empty", /Nothing was measured/],
    ["interrupted", /run_incomplete/],
  ] as const) {
    test(run, async ({ watched: { page } }) => {
      await open(page, pageOf(run));
      await drawn(page);
      await expect(page.locator("main")).toContainText(expectedText);
    });
  }

  test("an arm without readings", async ({ watched: { page } }) => {
    await open(page, pageOf("missing"));
    await drawn(page);
    const table = page.getByRole("table", { name: "CPU per request", exact: true });
    await expect(rowOf(table, "unread")).toContainText("n/a");
    await expect(rowOf(table, "unread")).not.toContainText(/\d/);
    await expect(rowOf(table, "sdk, sampling 0.5")).toContainText("costs");
    await expect(rowOf(table, "sdk, sampling 0.5")).not.toContainText("n/a");
  });

  test("two hundred arms are shown, and can be found by name", async ({ watched: { page } }) => {
    await open(page, pageOf("many"));
    await drawn(page);
    const rows = page.getByRole("table", { name: "CPU per request", exact: true }).locator("tbody tr");
    await expect(rows).toHaveCount(200);
    const figure = page.locator("figure").filter({ has: page.getByRole("searchbox", { name: "Only arms with" }) });
    await expect(figure.getByRole("status")).toHaveText("199 of 199 arms");
    await figure.getByRole("searchbox").fill("LEVEL 19");
    // Levels 19 and 190 to 197, and the control for comparison.
    await expect(figure.getByRole("status")).toHaveText("10 of 199 arms");
    await expect(figure.locator(".drawing")).toContainText("level 197");
    await expect(figure.locator(".drawing")).not.toContainText("level 20");
    await figure.getByRole("searchbox").fill("");
    await expect(figure.locator(".drawing")).toContainText("level 20");
  });

  test("a truncated document", async ({ page }) => {
    const whole = textOf("agents");
    const cut = whole.replace(/(id="windage-document"[^>]*>[A-Za-z0-9+/=]{2000})[A-Za-z0-9+/=]*/, "$1");
    expect(cut.length).toBeLessThan(whole.length);
    await page.setContent(cut);
    await expect(page.getByRole("alert")).toContainText("damaged");
  });
});

test("the page is readable without scripts", async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(pageOf("agents"));
  await expect(page.locator("noscript pre, pre").first()).toContainText("CPU per request");
  await context.close();
});

test("nothing is wider than a phone", async ({ watched: { page } }) => {
  await page.setViewportSize({ width: 360, height: 800 });
  for (const run of ["agents", "sweep", "hostile", "void"]) {
    await open(page, pageOf(run));
    await drawn(page);
    await expectNarrow(page, run);
  }
});

test("a page of two hundred arms is usable in time", async ({ watched: { page }, context }) => {
  const limit = 5_000;
  let least = await readyAfter(page, pageOf("many"));
  await ready(page);
  // Another program may take the processor for a while, but rarely on each try.
  for (let i = 1; i < 3 && least >= limit; i++) {
    const fresh = await context.newPage();
    least = Math.min(least, await readyAfter(fresh, pageOf("many")));
    await fresh.close();
  }
  expect(least).toBeLessThan(limit);
});

test("print has neither buttons nor a dark background", async ({ watched: { page } }) => {
  await open(page, pageOf("agents"));
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await drawn(page);
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(255, 255, 255)");
  for (const button of await page.getByRole("button", { name: /^(SVG|PNG|CSV)$/ }).all()) await expect(button).toBeHidden();
  const pdf = await page.pdf({ format: "A4" });
  expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
});

test("the first picture is whole", async ({ watched: { page } }) => {
  expect(await lacking(page, pageOf("agents"), "agent costs 50.1 %")).toEqual([]);
});
