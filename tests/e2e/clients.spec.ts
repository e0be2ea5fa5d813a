import { expect, noViolations, pictures, test } from "./base.ts";

const shots = process.env["GATEHOUSE_SHOTS"];

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
  if (shots) await main.screenshot({ path: `${shots}/token.png` });
  const token = (await dialog.locator("code").nth(1).textContent()) ?? "";
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  await expect(dialog.locator("code").first()).toHaveText(gatehouse.endpoint);
  await expect(dialog.getByText("claude mcp add --transport http gatehouse")).toContainText(token);
  await dialog.getByRole("tab", { name: "Without HTTP" }).click();
  // Where there is no keychain, that is said, and nothing else is lost.
  await dialog.getByRole("button", { name: "Keep for the bridge" }).click();
  await expect(dialog.getByText(/^The token is in your keychain\.$|No keychain can be reached/).first()).toBeVisible();
  await expect(dialog.getByText('gatehousectl clients keep-token "Claude Code"')).toBeVisible();
  await expect(dialog.getByText('"--client=Claude Code"')).toBeVisible();
  await dialog.getByRole("button", { name: "More addresses" }).click();
  await expect(dialog.getByText("/servers/NAME/mcp")).toBeVisible();
  await noViolations(main);
  if (shots) await main.screenshot({ path: `${shots}/bridge.png` });
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

test("a profile is made, given to a client, and changes what it sees and costs", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await gatehouse.connect("Claude Code", "2025-11-25");
  const cost = async () => (await gatehouse.command("clients.list", {}))[0]?.toolList;
  const before = await cost();
  await main.getByRole("link", { name: "Clients" }).click();
  const card = main.getByRole("article", { name: "Claude Code" });
  const tokens = (count: number | undefined) => `about ${(count ?? 0).toLocaleString("en")} tokens`;
  await expect(card).toContainText(tokens(before?.tokens));

  await main.getByRole("button", { name: "Add profile" }).click();
  const editor = main.getByRole("dialog", { name: "Add profile" });
  await editor.getByRole("textbox", { name: "Name", exact: true }).fill("Small");
  await editor.getByRole("checkbox", { name: "Notes" }).uncheck();
  await editor.getByRole("button", { name: /^fixture: / }).click();
  await editor.getByRole("checkbox", { name: "echo", exact: true }).uncheck();
  await editor.getByText("Search", { exact: true }).click();
  await noViolations(main);
  if (shots) await main.screenshot({ path: `${shots}/profile-editor.png` });
  await editor.getByRole("button", { name: "Save" }).click();
  await expect(editor).toBeHidden();
  await expect(main.getByRole("article", { name: "Small" })).toContainText("Not used by any client");

  await card.getByRole("combobox", { name: "Profile of Claude Code" }).click();
  await main.getByRole("option", { name: "Small" }).click();
  await expect(main.getByRole("article", { name: "Small" })).toContainText("Used by Claude Code");
  await expect(card).toContainText("3 listed");
  const after = await cost();
  expect(after?.listed).toBe(3);
  expect(after?.tokens).toBeLessThan(before?.tokens ?? 0);
  await expect(card).toContainText(tokens(after?.tokens));
  await pictures(gatehouse, main, "profiles");
});
