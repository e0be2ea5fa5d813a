// Importing servers of other applications (UI-2): what is found, the checklist, and that the files stay as they are.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { expect, noViolations, pictures, test, type Gatehouse } from "./base.ts";

/** Writes the settings of an application, with a comment as people leave them. */
function settings(gatehouse: Gatehouse, file: string, content: unknown): string {
  const path = join(gatehouse.home, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `// Mine\n${JSON.stringify(content, null, 2)}\n`);
  return path;
}

function fixture(gatehouse: Gatehouse, more: object = {}) {
  return { command: gatehouse.program("fixture-server"), args: [], env: { API_KEY: "s3cret-value" }, ...more };
}

test("servers of another application are offered, picked and imported", async ({ gatehouse, main }) => {
  const path = settings(gatehouse, ".cursor/mcp.json", {
    mcpServers: {
      first: fixture(gatehouse, { cwd: gatehouse.folder, autoApprove: ["echo"], envFile: ".env" }),
      second: fixture(gatehouse),
      broken: { args: ["nothing to start"] },
    },
  });
  const before = readFileSync(path, "utf8");
  await main.reload();
  await expect(main.getByText("Found 3 servers in Cursor")).toBeVisible();
  await noViolations(main);
  await main.getByRole("button", { name: "Import…" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  // The only application with servers is opened at once; the way back leads to all of them.
  await expect(dialog.getByRole("checkbox", { name: "first" })).toBeChecked();
  await dialog.getByRole("button", { name: "Back" }).click();
  await expect(dialog.getByRole("listitem").filter({ hasText: "Cursor" })).toContainText("3 servers");
  await noViolations(main);
  await pictures(gatehouse, main, "import-sources");
  await dialog.getByRole("button", { name: "Choose servers of Cursor" }).click();

  await expect(dialog.getByRole("checkbox", { name: "first" })).toBeChecked();
  await expect(dialog.getByRole("checkbox", { name: "broken" })).toBeDisabled();
  await expect(dialog.getByRole("list", { name: "Settings of first" })).toContainText("env.API_KEY: ${secret:API_KEY}");
  await dialog.getByRole("checkbox", { name: "second" }).uncheck();
  await dialog.getByRole("button", { name: "1 setting is left out" }).click();
  await expect(dialog.getByText("envFile")).toBeVisible();
  await expect(dialog.getByRole("checkbox", { name: "Put 1 secret into the keychain" })).toBeChecked();
  await expect(dialog.getByRole("checkbox", { name: /Run these tools without asking/ })).not.toBeChecked();
  expect(await main.content()).not.toContain("s3cret-value");
  await noViolations(main);
  await pictures(gatehouse, main, "import-checklist");
  await dialog.getByRole("button", { name: "Import 1 server" }).click();

  await expect(dialog.getByText("1 of 1 server imported")).toBeVisible();
  await noViolations(main);
  await dialog.getByRole("link", { name: "Open first" }).click();
  await expect(main.getByRole("heading", { name: "first" })).toBeVisible();
  const listed = await gatehouse.command("servers.list", {});
  const imported = listed.find(({ config }) => config.name === "first");
  expect(imported?.autoApprove).toEqual([]);
  expect(JSON.stringify(listed)).not.toContain("s3cret-value");
  expect(listed.some(({ config }) => config.name === "second")).toBe(false);
  expect(readFileSync(path, "utf8")).toBe(before);
  // What was imported is not offered again.
  await main.goto(`${gatehouse.address}/#/welcome`);
  await expect(main.getByText("Found 2 servers in Cursor")).toBeVisible();
});

test("a taken name is renamed or overwritten, and inputs are asked for", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("asking");
  settings(gatehouse, ".config/Code/User/mcp.json", {
    inputs: [{ type: "promptString", id: "token", description: "Your token", password: true }],
    servers: { asking: fixture(gatehouse, { env: { TOKEN: "${input:token}" } }) },
  });
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Import from an app" }).click();
  const row = dialog.getByRole("checkbox", { name: "asking" });
  await expect(row).not.toBeChecked();
  await expect(dialog.getByText("A server with this name has other settings.")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Import", exact: true })).toBeDisabled();
  await row.check();
  await expect(dialog.getByLabel("New name")).toHaveValue("asking 2");
  await expect(dialog.getByRole("button", { name: "Import 1 server" })).toBeDisabled();
  await dialog.getByLabel("Your token").fill("s3cret-token");
  await noViolations(main);
  await dialog.getByRole("button", { name: "Import 1 server" }).click();
  await expect(dialog.getByText("1 of 1 server imported")).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(main.getByRole("article", { name: "asking 2" }).getByText("Running")).toBeVisible();
  expect(JSON.stringify(await gatehouse.command("servers.list", {}))).not.toContain("s3cret-token");
});

test("pasted settings with several servers lead to the checklist", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  const json = { mcpServers: { one: fixture(gatehouse), two: fixture(gatehouse, { disabled: true }) } };
  await dialog.getByLabel("Paste a command").fill(JSON.stringify(json));
  await expect(dialog.getByRole("checkbox", { name: "one" })).toBeChecked();
  await expect(dialog.getByText("Switched off there, and stays off")).toBeVisible();
  await dialog.getByRole("button", { name: "Import 2 servers" }).click();
  await expect(dialog.getByText("2 of 2 servers imported")).toBeVisible();
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(main.getByRole("article", { name: "one" }).getByText("Running")).toBeVisible();
  await expect(main.getByRole("article", { name: "two" }).getByText("Off", { exact: true })).toBeVisible();
});

test("settings that can't be read say so, and can be read again", async ({ gatehouse, main }) => {
  const path = settings(gatehouse, ".cursor/mcp.json", { mcpServers: { one: fixture(gatehouse) } });
  writeFileSync(path, "{ broken");
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Import from an app" }).click();
  await expect(dialog.getByText("there's an error at line 1")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Choose servers of Cursor" })).toBeDisabled();
  await dialog.getByLabel("Or the path of a settings file").fill(path);
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("there's an error at line 1");
  settings(gatehouse, ".cursor/mcp.json", { mcpServers: { one: fixture(gatehouse) } });
  await dialog.getByRole("button", { name: "Try again" }).click();
  await expect(dialog.getByRole("checkbox", { name: "one" })).toBeChecked();
  await dialog.getByRole("button", { name: "Back" }).click();
  await dialog.getByRole("button", { name: "Look again" }).click();
  await expect(dialog.getByRole("listitem").filter({ hasText: "Cursor" })).toContainText("1 server");
});
