// Connecting AI applications (UI-6): what is found, what would change, and that nothing changes when it fails.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, noViolations, pictures, test } from "./base.ts";

const settings =
  '{\n  // mine\n  "mcpServers": {\n    "other": { "command": "npx", "env": { "KEY": "sk-secret" } }\n  }\n}\n';

test("an application is found, and its change is shown before anything is written", async ({ gatehouse, main }) => {
  const folder = join(gatehouse.home, ".cursor");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "mcp.json");
  writeFileSync(file, settings);

  await main.getByRole("link", { name: "Clients" }).click();
  const card = main.getByRole("listitem", { name: "Cursor" });
  await expect(card).toContainText("Not connected");
  await noViolations(main);
  await pictures(gatehouse, main, "connect-cards");

  await card.getByRole("button", { name: "Connect Cursor" }).click();
  const dialog = main.getByRole("dialog", { name: "Connect Cursor" });
  const diff = dialog.getByRole("region", { name: `Change of ${file}` });
  await expect(diff.locator('[data-kind="added"]').filter({ hasText: '"gatehouse": {' })).toBeVisible();
  await expect(diff).toContainText('"KEY": "•••"');
  expect(await main.content()).not.toContain("sk-secret");
  // Cursor has no rule for one server.
  await expect(dialog.getByRole("checkbox")).toHaveCount(0);
  await noViolations(main);
  await pictures(gatehouse, main, "connect-preview");

  // There is no keychain for the token here: nothing is left half done.
  await dialog.getByRole("button", { name: "Connect", exact: true }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  expect(readFileSync(file, "utf8")).toBe(settings);
  expect(await gatehouse.command("clients.list", {})).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
  await expect(card).toContainText("Not connected");
});

test("the application's own rule is offered where it has one", async ({ gatehouse, main }) => {
  mkdirSync(join(gatehouse.home, ".claude"), { recursive: true });
  await main.getByRole("link", { name: "Clients" }).click();
  await main.getByRole("button", { name: "Connect Claude Code" }).click();
  const dialog = main.getByRole("dialog", { name: "Connect Claude Code" });
  await expect(dialog.getByRole("region")).toHaveCount(1);
  await dialog.getByRole("checkbox").check();
  const rules = dialog.getByRole("region", { name: `New file ${join(gatehouse.home, ".claude/settings.json")}` });
  await expect(rules).toContainText("mcp__gatehouse");
  await noViolations(main);
  await dialog.getByRole("checkbox").uncheck();
  await expect(dialog.getByRole("region")).toHaveCount(1);
});

test("settings that can't be read say so on the card", async ({ gatehouse, main }) => {
  const folder = join(gatehouse.home, ".codex");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.toml"), "[mcp_servers");
  await main.getByRole("link", { name: "Clients" }).click();
  await expect(main.getByRole("listitem", { name: "Codex" })).toContainText("config.toml can't be changed as it is");
  await expect(main.getByText(/applications? not found$/)).toBeVisible();
});
