// Two runs of one plan, in the file that `windage compare` writes.

import { join } from "node:path";

import { barriers, drawn, expect, expectNarrow, expectWalked, open, percent, rowOf, test, unfolded } from "./page";
import { compared, pageOf, pages, runNamed, windage } from "./runs";

test("the sections are in order, once for each load", async ({ watched: { page } }) => {
  await open(page, pageOf("comparison"));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("sweep, two runs compared");
  const headings = await page.locator("main h2").allTextContents();
  expect(headings).toEqual(["half", "saturation", "Warnings about the comparison", "Other differences", "Provenance"]);
  const loads = page.locator("section.load");
  for (const load of await loads.all()) {
    await expect(load.locator(".answer")).toContainText("percentage points");
    await expect(load.locator("figure")).toHaveCount(1);
    await expect(load.getByRole("table", { name: "CPU per request", exact: true })).toBeVisible();
  }
});

test("figures match windage compare --json", async ({ watched: { page } }) => {
  await open(page, pageOf("comparison"));
  await drawn(page);
  const { loads } = compared();
  expect(loads.length).toBe(2);
  for (const [i, load] of loads.entries()) {
    const place = page.locator("section.load").nth(i);
    const table = place.getByRole("table", { name: "CPU per request", exact: true });
    const words = await place.locator("figure p.unseen").textContent();
    const arms = load.arms.filter((arm) => arm.role !== "baseline");
    expect(arms.length).toBe(5);
    for (const { name, metrics } of arms) {
      const figures = metrics[load.primary];
      if (!figures?.change?.relative || !figures.a.relative || !figures.b.relative) throw new Error(`${name} has no change`);
      const row = rowOf(table, name);
      for (const share of [figures.a.relative, figures.b.relative, figures.change.relative]) await expect(row).toContainText(percent(share.estimate));
      await expect(row).toContainText(figures.verdict ?? "no verdict");
      expect(words).toContain(`change ${percent(figures.change.relative.estimate)} points`);
    }
  }
});

test("warnings and differences are shown", async ({ watched: { page } }) => {
  await open(page, pageOf("comparison"));
  const { warnings, comparable } = compared();
  expect(comparable).toBe("with_care");
  await expect(page.locator("main .state")).toContainText("with warnings");
  const section = page.getByRole("region", { name: "Warnings about the comparison" });
  expect(warnings.map(({ code }) => code)).toContain("other_kernel");
  for (const { text } of warnings) await expect(section).toContainText(text);
  await expect(section.locator(".warning")).toHaveCount(warnings.length);

  const differs = page.getByRole("region", { name: "Other differences" });
  await expect(rowOf(differs.getByRole("table"), "kernel")).toHaveText("kernel6.1.06.12.0");
  await expect(rowOf(differs.getByRole("table"), "sdk")).toHaveText("sdksdk 1.30.0sdk 1.31.0");
  await expect(differs.locator(".delete")).toHaveText("- # sdk 1.30.0\n");
  await expect(differs.locator(".insert")).toHaveText("+ # sdk 1.31.0\n");
});

test("another metric can be chosen", async ({ watched: { page } }) => {
  await open(page, pageOf("comparison"));
  await drawn(page);
  const figure = page.locator("section.load").first().locator("figure");
  const before = await figure.locator("p.unseen").textContent();
  await figure.getByRole("combobox", { name: "Metric" }).selectOption({ label: "RSS, steady" });
  await expect(figure.locator("figcaption")).toContainText("RSS, steady");
  await expect(figure.locator("p.unseen")).not.toHaveText(before ?? "");
  await expect(figure.locator(".drawing svg").first()).toBeVisible();
});

test("everything can be reached by keyboard", async ({ watched: { page } }) => {
  await open(page, pageOf("comparison"));
  await drawn(page);
  await expectWalked(page);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious, ${scheme}`, async ({ watched: { page } }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open(page, pageOf("comparison"));
    await drawn(page);
    expect(await barriers(page, scheme)).toEqual([]);
  });
}

test("harmful names are shown as text", async ({ watched: { page } }) => {
  const [run, file] = [runNamed("hostile"), join(pages(), "hostile-comparison.html")];
  windage("compare", run, run, "--format", "html", "-o", file);
  await open(page, `file://${file}`);
  await drawn(page);
  await unfolded(page);
  expect(await page.title()).not.toBe("harmed");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("</title></script><script>document.title='harmed'</script>");
  const table = page.getByRole("table", { name: "CPU per request", exact: true });
  await expect(table.getByRole("rowheader", { name: "<script>document.title = 'harmed'</script>" })).toBeVisible();
  expect(await page.locator("img[src=x]").count()).toBe(0);
  expect(await page.locator("main").innerText()).not.toMatch(/[\u0007\u001b\u202e]/);
});

test("nothing is wider than a phone", async ({ watched: { page } }) => {
  await page.setViewportSize({ width: 360, height: 800 });
  await open(page, pageOf("comparison"));
  await drawn(page);
  await expectNarrow(page, "comparison");
});
