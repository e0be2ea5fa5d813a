// Export and import of everything but secrets (DATA-4): what is exported comes back by the checklist, and nothing runs
// without asking that was not ticked.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, noViolations, test } from "./base.ts";

test("an exported configuration is imported again, with its rules only where they are ticked", async ({
  gatehouse,
  main,
}) => {
  const draft = {
    name: "tickets",
    transport: {
      type: "stdio",
      command: gatehouse.program("fixture-server"),
      args: [],
      env: { API_KEY: "s3cret-plain" },
      cwd: null,
      streams: "sockets",
    },
    enabled: true,
    autostart: true,
  } as const;
  await gatehouse.command("servers.add", {
    // What is absent is as usual.
    draft: draft as unknown as Parameters<typeof gatehouse.command<"servers.add">>[1]["draft"],
    trustLabels: false,
    secrets: [],
    run: null,
  });
  await gatehouse.command("clients.add", { name: "My editor" });
  const status = async () =>
    (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === "tickets")?.status.state;
  await expect.poll(status).toBe("connected");
  await gatehouse.command("policy.autoApprove", { server: "tickets", client: null, to: "all" });
  const rules = await gatehouse.rules();
  expect(rules).toHaveLength(1);

  await main.getByRole("link", { name: "Settings" }).click();
  const section = main.getByRole("region", { name: "Export and import" });
  await section.getByRole("button", { name: "Export", exact: true }).click();
  const exported = section.getByText(/^Exported to /);
  const file = ((await exported.textContent()) ?? "").replace("Exported to ", "");
  await noViolations(main);
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain("s3cret-plain");
  expect(text).toContain("${secret:API_KEY}");

  await gatehouse.command("servers.remove", { server: "tickets", undoable: false });
  await gatehouse.command("clients.revoke", { client: "My editor" });
  await section.getByRole("button", { name: "Import…" }).click();
  const dialog = main.getByRole("dialog", { name: "Import configuration" });
  await dialog.getByLabel("Path of the file").fill(file);
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  const servers = dialog.getByRole("region", { name: "Servers" });
  await expect(servers.getByRole("checkbox", { name: "tickets" })).toBeChecked();
  await expect(dialog.getByRole("checkbox", { name: "My editor" })).toBeChecked();
  await expect(servers.getByRole("checkbox", { name: "Notes" })).toBeDisabled();
  const rule = dialog.getByRole("region", { name: "Permissions" }).getByRole("checkbox");
  await expect(rule).not.toBeChecked();
  await expect(dialog.getByRole("region", { name: "Permissions" })).toContainText("tools: ");
  await rule.check();
  await dialog.getByLabel("Secret for env/API_KEY").fill("s3cret-again");
  await noViolations(main);
  await dialog.getByRole("button", { name: "Import 3 items" }).click();
  await expect(dialog.getByText("3 items imported")).toBeVisible();
  await expect(dialog.getByText("These clients need a new token before they can connect: My editor")).toBeVisible();
  await noViolations(main);
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect.poll(status).toBe("connected");
  expect(await gatehouse.rules()).toEqual(rules);
  expect(JSON.stringify(await gatehouse.command("servers.list", {}))).not.toContain("s3cret");
  rmSync(file);
});

test("a taken name is a choice, and an invalid file changes nothing", async ({ gatehouse, main }) => {
  const before = await gatehouse.command("configuration.export", { save: false });
  const file = join(gatehouse.folder, "configuration.json");
  const clock = { type: "builtin", builtin: { kind: "time" } };
  const write = (more: object) => {
    writeFileSync(file, JSON.stringify({ gatehouseConfiguration: 1, mcpServers: { Notes: clock }, ...more }));
  };
  write({ tokens: {} });
  await main.getByRole("link", { name: "Settings" }).click();
  await main.getByRole("button", { name: "Import…" }).click();
  const dialog = main.getByRole("dialog", { name: "Import configuration" });
  await dialog.getByLabel("Path of the file").fill(file);
  const open = dialog.getByRole("button", { name: "Open", exact: true });
  await open.click();
  await expect(dialog.getByRole("alert")).toContainText("/tokens");

  write({ profiles: [{ name: "Work", folders: ["relative"] }] });
  await open.click();
  await dialog.getByRole("checkbox", { name: "Notes" }).check();
  await expect(dialog.getByLabel("New name")).toHaveValue("Notes 2");
  await dialog.getByRole("button", { name: "Import 2 items" }).click();
  await expect(dialog.getByRole("alert")).toContainText("“Work” can't be imported");
  expect(await gatehouse.command("configuration.export", { save: false })).toEqual(before);

  await dialog.getByRole("checkbox", { name: "Work" }).uncheck();
  await dialog.getByRole("button", { name: "Import 1 item" }).click();
  await expect(dialog.getByText("1 item imported")).toBeVisible();
  const names = (await gatehouse.command("servers.list", {})).map(({ config }) => config.name);
  expect(names).toContain("Notes 2");
});

test("a model provider is asked for its key, and gets another address only where that is chosen", async ({
  gatehouse,
  main,
}) => {
  const draft = { name: "Local", api: "open_ai_chat", baseUrl: "http://127.0.0.1:9/v1", defaultModel: null } as const;
  await gatehouse.command("models.addProvider", { draft, key: "s3cret-old" });
  const file = join(gatehouse.folder, "configuration.json");
  const moved = { ...draft, baseUrl: "https://elsewhere.example/v1", hasKey: true };
  const added = { ...draft, name: "Other", hasKey: true };
  writeFileSync(file, JSON.stringify({ gatehouseConfiguration: 1, modelProviders: [moved, added] }));
  await main.getByRole("link", { name: "Settings" }).click();
  await main.getByRole("button", { name: "Import…" }).click();
  const dialog = main.getByRole("dialog", { name: "Import configuration" });
  await dialog.getByLabel("Path of the file").fill(file);
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  const providers = dialog.getByRole("region", { name: "Model providers" });
  await expect(providers).toContainText("its conversations go to the new address");
  await expect(providers).toContainText("https://elsewhere.example/v1");
  await expect(providers.getByRole("checkbox", { name: "Local" })).not.toBeChecked();
  await expect(providers.getByRole("checkbox", { name: "Other" })).toBeChecked();
  await providers.getByLabel("Secret for key").fill("s3cret-new");
  await noViolations(main);
  await dialog.getByRole("button", { name: "Import 1 item" }).click();
  await expect(dialog.getByText("1 item imported")).toBeVisible();
  const { providers: stored } = await gatehouse.command("models.show", {});
  expect(stored.map(({ name, baseUrl, hasKey }) => [name, baseUrl, hasKey])).toEqual([
    ["Local", draft.baseUrl, true],
    ["Other", draft.baseUrl, true],
  ]);
});
