// What Gatehouse does on the desktop (UI-9), as far as its page shows it, and the sheet with the keyboard shortcuts.

import { expect, noViolations, pictures, test } from "./base.ts";

test("the switch for starting at login shows what the system says", async ({ gatehouse, main }) => {
  await main.goto(`${gatehouse.address}/#/settings`);
  const starts = main.getByRole("switch", { name: "Start at login" });
  await expect(starts).not.toBeChecked();
  await starts.click({ force: true });
  await expect(starts).toBeChecked();
  expect(await gatehouse.send("starts_at_login", {})).toBe(true);

  // Somebody takes it out in the system's own settings.
  await gatehouse.send("set_starts_at_login", { starts: false });
  await main.evaluate(() => window.dispatchEvent(new Event("focus")));
  await expect(starts).not.toBeChecked();
  await expect(main.getByText("Updates come from where you installed Gatehouse.")).toBeVisible();
});

test("a key shows all keyboard shortcuts, but not while one types", async ({ gatehouse, main }) => {
  const sheet = main.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(main.getByRole("article", { name: "Notes", exact: true })).toBeVisible();
  await main.keyboard.press("?");
  await expect(
    sheet.getByRole("region", { name: "In the approval window" }).getByText("Allow once", { exact: true }),
  ).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "shortcuts");
  await main.keyboard.press("Escape");
  await expect(sheet).toBeHidden();

  await main.getByRole("button", { name: "Add server" }).click();
  const box = main.getByRole("dialog").getByLabel("Paste a command");
  await box.pressSequentially("node ?");
  await expect(box).toHaveValue("node ?");
  await expect(sheet).toBeHidden();
});
