// Undoing removals (UI-12): a notification offers it, the keyboard reaches it, and everything comes back.

import { expect, noViolations, pictures, test } from "./base.ts";

test("a removed server comes back with its permissions", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Notes", client: null, to: "all" });
  const rules = await gatehouse.rules();
  expect(rules).toHaveLength(1);
  const notes = main.getByRole("article", { name: "Notes", exact: true });
  await notes.getByRole("button", { name: "More actions for Notes" }).click();
  await main.getByRole("menuitem", { name: "Remove" }).click();
  await expect(notes).toBeHidden();
  await expect(main.getByText("Removed Notes")).toBeVisible();
  expect(await gatehouse.rules()).toEqual([]);
  await noViolations(main);
  await pictures(gatehouse, main, "undo");
  await main.getByRole("button", { name: "Undo" }).click();
  await expect(notes.getByText("Running")).toBeVisible();
  expect(await gatehouse.rules()).toEqual(rules);
});

test("the keyboard undoes what was revoked last", async ({ gatehouse, main }) => {
  await gatehouse.command("policy.autoApprove", { server: "Notes", client: null, to: "all" });
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const rules = await gatehouse.rules();
  await main.goto(`${gatehouse.address}/#/permissions`);
  const sentences = main.getByTestId("rule-sentence");
  await expect(sentences).toHaveCount(2);
  await main
    .getByRole("button", { name: /^Revoke/ })
    .first()
    .click();
  await expect(sentences).toHaveCount(1);
  await main
    .getByRole("button", { name: /^Revoke/ })
    .first()
    .click();
  await expect(sentences).toHaveCount(0);
  await main.keyboard.press("Control+z");
  await expect(sentences).toHaveCount(1);
  await main.keyboard.press("Control+z");
  await expect(sentences).toHaveCount(2);
  expect((await gatehouse.rules()).sort()).toEqual(rules.sort());
});
