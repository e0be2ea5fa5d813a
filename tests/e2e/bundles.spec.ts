// Bundles in the dialog that adds a server: shown before anything runs, filled in, tried and added.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, noViolations, pictures, test } from "./base.ts";
import { zip } from "./zip.ts";

const server = resolve(import.meta.dirname, "../js/bundled-server.mjs");

const manifest = {
  manifest_version: "0.3",
  name: "teller",
  display_name: "Teller",
  version: "2.0.1",
  description: "Tells what it was started with.",
  author: { name: "Ana" },
  server: {
    type: "node",
    entry_point: "server/index.mjs",
    mcp_config: {
      command: "node",
      args: ["${__dirname}/server/index.mjs", "--level=${user_config.level}"],
      env: { TOKEN: "Bearer ${user_config.token}" },
    },
  },
  tools: [{ name: "started_with", description: "Tells." }],
  user_config: {
    level: { type: "number", title: "Level", description: "How loud", default: 3, min: 1, max: 9 },
    token: { type: "string", title: "Token", description: "Yours", sensitive: true, required: true },
  },
};

function bundle(folder: string, files: Record<string, string>): string {
  const path = join(folder, "teller.mcpb");
  writeFileSync(path, zip(files));
  return path;
}

test("a bundle that is dropped on the window is shown as if it were picked, and not added", async ({
  gatehouse,
  main,
}) => {
  const file = bundle(gatehouse.folder, {
    "manifest.json": JSON.stringify(manifest),
    "server/index.mjs": readFileSync(server, "utf8"),
  });
  const text = join(gatehouse.folder, "notes.txt");
  await expect(main.getByRole("heading", { level: 1 })).toBeVisible();
  await gatehouse.send("drop_files", [text]);
  await gatehouse.send("drop_files", [text, file]);
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  const summary = dialog.getByRole("region", { name: "About this bundle" });
  await expect(summary.getByRole("heading", { name: "Teller 2.0.1" })).toBeVisible();
  await noViolations(main);

  // What is open stays.
  await gatehouse.send("drop_files", [file]);
  await expect(dialog.getByText("Another bundle was dropped meanwhile.")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).first().click();
  await expect(dialog).toBeHidden();
  await gatehouse.send("drop_files", [join(gatehouse.folder, "none.mcpb")]);
  await expect(dialog.getByRole("alert")).toBeVisible();
  expect((await gatehouse.command("servers.list", {})).length).toBe(2);
});

test("a bundle is shown, filled in, tried and added", async ({ gatehouse, main }) => {
  const file = bundle(gatehouse.folder, {
    "manifest.json": JSON.stringify(manifest),
    "server/index.mjs": readFileSync(server, "utf8"),
  });
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Bundle file" }).click();
  await dialog.getByRole("textbox", { name: "Bundle file" }).fill(file);
  await dialog.getByRole("button", { name: "Open", exact: true }).click();

  const summary = dialog.getByRole("region", { name: "About this bundle" });
  await expect(summary.getByRole("heading", { name: "Teller 2.0.1" })).toBeVisible();
  await expect(summary.getByText("Not signed")).toBeVisible();
  await expect(summary.getByText("--level=${user_config.level}")).toBeVisible();
  await summary.getByRole("button", { name: "1 tool listed by the bundle" }).click();
  await expect(summary.getByText("started_with")).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "bundle");
  expect((await gatehouse.command("servers.list", {})).length).toBe(2);

  // A value that the bundle does not take, and a secret that is missing.
  await dialog.getByLabel("Level").fill("12");
  await dialog.getByRole("button", { name: "Fill in the form" }).click();
  await expect(dialog.getByLabel("Level")).toHaveAttribute("aria-invalid", "true");
  await dialog.getByLabel("Level").fill("7");
  await dialog.getByRole("button", { name: "Fill in the form" }).click();
  await expect(dialog.getByRole("alert")).toContainText("“Token”: Enter a value.");
  await dialog.getByRole("textbox", { name: "Token" }).fill("t0p-s3cret");
  await dialog.getByRole("button", { name: "Fill in the form" }).click();

  // What comes out is in the form, not added.
  await expect(dialog.getByRole("textbox", { name: "Name", exact: true }).first()).toHaveValue("Teller");
  expect((await gatehouse.command("servers.list", {})).length).toBe(2);
  await dialog.getByRole("button", { name: "Test connection" }).click();
  await expect(dialog.getByText("Connected:")).toBeVisible();
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(dialog).toBeHidden();
  const card = main.getByRole("article", { name: "Teller" });
  await expect(card.getByText("Running")).toBeVisible();
  // The image that the server names as its icon, as Gatehouse encoded it.
  await expect(card.locator("img[data-icon=own]")).toHaveAttribute("src", /^data:image\/png;base64,/);
  const [added] = (await gatehouse.command("servers.list", {})).filter(({ config }) => config.name === "Teller");
  expect(JSON.stringify(added)).not.toContain("t0p-s3cret");
});

test("a file that would be written elsewhere is refused in words", async ({ gatehouse, main }) => {
  const file = bundle(gatehouse.folder, {
    "manifest.json": JSON.stringify(manifest),
    "../../outside.mjs": "",
  });
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Bundle file" }).click();
  await dialog.getByRole("textbox", { name: "Bundle file" }).fill(file);
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("would be written outside of its folder");
  await expect(dialog.getByRole("alert")).toContainText("Don't use this file.");
  await noViolations(main);
});

test("a server's own icon gives way to an emoji, and is never in the prompt", async ({ gatehouse, main, prompt }) => {
  const id = await gatehouse.addServer("teller", {
    type: "stdio",
    command: "node",
    args: [server],
    env: {},
    cwd: null,
    streams: "sockets",
  });
  await main.goto(`${gatehouse.address}/#/servers`);
  const card = main.getByRole("article", { name: "teller" });
  await expect(card.locator("img[data-icon=own]")).toBeVisible();
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("started_with", {});
  await expect(prompt.getByText("started_with").first()).toBeVisible();
  await expect(prompt.locator("[data-icon=terminal]").first()).toBeVisible();
  await expect(prompt.locator("img")).toHaveCount(0);
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);

  await main.goto(`${gatehouse.address}/#/servers/${id}/settings`);
  await main.getByRole("button", { name: "More settings" }).click();
  await main.getByLabel("Icon").selectOption({ label: "Emoji" });
  const emoji = main.getByRole("textbox", { name: "Emoji" });
  await emoji.fill("no emoji");
  await expect(main.getByText("Enter one emoji.")).toBeVisible();
  await emoji.fill("🦀");
  await noViolations(main);
  await main.getByRole("button", { name: "Save" }).click();
  await main.goto(`${gatehouse.address}/#/servers`);
  await expect(card.locator("[data-icon=emoji]")).toHaveText("🦀");
  await expect(card.locator("img")).toHaveCount(0);
});
