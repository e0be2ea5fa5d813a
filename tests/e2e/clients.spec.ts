import { expect, noViolations, pictures, test } from "./base.ts";

test("a client gets an address and a token, this once, and can connect with them", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Clients" }).click();
  await expect(main.getByText("No clients yet")).toBeVisible();
  await noViolations(main);
  await main.getByRole("button", { name: "Add client" }).first().click();
  const dialog = main.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Claude Code");
  await dialog.getByRole("button", { name: "Create token" }).click();
  await expect(dialog.getByText("Copy this token now.")).toBeVisible();
  await noViolations(main);
  if (process.env["GATEHOUSE_SHOTS"]) await main.screenshot({ path: `${process.env["GATEHOUSE_SHOTS"]}/token.png` });
  const token = (await dialog.locator("code").nth(1).textContent()) ?? "";
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  await expect(dialog.locator("code").first()).toHaveText(gatehouse.endpoint);
  await expect(dialog.getByText("claude mcp add --transport http gatehouse")).toContainText(token);
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(dialog).toBeHidden();
  expect(await main.content()).not.toContain(token);

  const card = main.getByRole("article", { name: "Claude Code" });
  await expect(card).toContainText("Not seen since Gatehouse started");
  await gatehouse.connectWith(token, "2025-11-25");
  await expect(card).toContainText("Identifies as sdk-js");
  await expect(card).toContainText("Open sessions: 1");
  await pictures(gatehouse, main, "clients");

  await main.getByRole("button", { name: "New token" }).click();
  await main.getByRole("dialog").getByRole("button", { name: "New token" }).click();
  await expect(main.getByRole("dialog", { name: "Token for Claude Code" })).toBeVisible();
  await expect(gatehouse.connectWith(token)).rejects.toThrow();
  await main.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await card.getByRole("button", { name: "Revoke" }).click();
  await main.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(card).toBeHidden();
});

test("a name that is taken is said in the dialog", async ({ gatehouse, main }) => {
  await gatehouse.command("clients.add", { name: "Zed" });
  await main.getByRole("link", { name: "Clients" }).click();
  await main.getByRole("button", { name: "Add client" }).first().click();
  await main.getByLabel("Name").fill("Zed");
  await main.getByRole("button", { name: "Create token" }).click();
  await expect(main.getByRole("dialog").getByRole("alert")).toContainText("Zed");
});
