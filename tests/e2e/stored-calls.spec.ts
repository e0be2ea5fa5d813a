// Activity with as many calls as months bring (UI-5, DATA-3): they were stored before Gatehouse started.

import { expect, frames, test } from "./base.ts";

const calls = 100_000;
const rowHeight = 36;

test.use({ storedCalls: calls });
// A development build takes a minute to store them.
test.describe.configure({ timeout: 300_000 });

test("a hundred thousand calls are in the list, and only those in sight are drawn", async ({ main }) => {
  await main.getByRole("link", { name: "Activity" }).click();
  const area = main.getByRole("list", { name: "Calls", exact: true });
  const rows = area.getByRole("listitem");
  await expect(rows.last()).toBeVisible();
  await frames(main, `${String(calls)} calls read page by page`, async () => {
    await area.evaluate(async (element, height) => {
      while (element.scrollHeight < height) {
        element.scrollTop = 0;
        await new Promise((done) => requestAnimationFrame(done));
      }
    }, calls * rowHeight);
  });
  let most = 0;
  await frames(main, `${String(calls)} calls scrolled`, async () => {
    most = await area.evaluate(async (element) => {
      let drawn = 0;
      for (let step = 0; step <= 300; step += 1) {
        element.scrollTop = (element.scrollHeight * step) / 300;
        await new Promise((done) => requestAnimationFrame(done));
        drawn = Math.max(drawn, element.querySelectorAll("button").length);
      }
      return drawn;
    });
  });
  expect(most).toBeGreaterThan(10);
  expect(most).toBeLessThan(100);

  await area.evaluate((element) => {
    element.scrollTop = 0;
  });
  const first = area.locator("[aria-posinset='1']");
  await expect(first).toBeVisible();
  await expect(first).toHaveAttribute("aria-setsize", String(calls));
  await first.getByRole("button").click();
  await expect(main.getByRole("dialog")).toContainText("r0000000.md");
  await main.keyboard.press("Escape");
  await main.getByRole("button", { name: "Jump to latest" }).click();
  await expect(area.locator(`[aria-posinset='${String(calls)}']`)).toBeVisible();

  // Searches are over all stored calls, wherever the list is.
  const search = main.getByLabel("Search tools, arguments and results");
  await search.fill("r0000000");
  await expect(rows).toHaveCount(1);
  await search.fill("");
  await expect.poll(() => rows.count()).toBeGreaterThan(10);
});
