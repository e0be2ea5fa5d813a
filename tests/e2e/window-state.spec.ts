// What was begun in the main window and not finished is in the next one: its page ends when it is closed.

import type { Page } from "@playwright/test";

import type { ProfileSettings } from "../../ui/src/generated/types.ts";
import { expect, test, type Gatehouse } from "./base.ts";

/** Ends the page as closing the window does, once the shell has these words, and begins the next one. */
async function reopen(gatehouse: Gatehouse, main: Page, words: readonly string[]): Promise<void> {
  const kept = expect.poll(async () => JSON.stringify(await gatehouse.send("page_state", {})));
  for (const word of words) await kept.toContain(word);
  await main.reload();
}

test("filters and arguments are there again", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await main.getByRole("link", { name: "Activity", exact: true }).click();
  await main.getByLabel("Search tools, arguments and results").fill("vienna");
  await main.getByLabel("Decision").selectOption("deny");
  await reopen(gatehouse, main, ["vienna", "deny"]);
  await expect(main.getByLabel("Search tools, arguments and results")).toHaveValue("vienna");
  await expect(main.getByLabel("Decision")).toHaveValue("deny");

  await main.getByRole("link", { name: "Playground", exact: true }).click();
  await main.getByLabel("Search tools, prompts and resources").fill("write note");
  await main.getByRole("option", { name: /^Write note/ }).click();
  await main.getByRole("textbox", { name: /^text/ }).fill("half a thou");
  await reopen(gatehouse, main, ["half a thou"]);
  await expect(main.getByLabel("Search tools, prompts and resources")).toHaveValue("write note");
  await expect(main.getByRole("textbox", { name: /^text/ })).toHaveValue("half a thou");
  await expect(main.getByRole("textbox", { name: "Arguments" })).toContainText("half a thou");
});

test("an unfinished form is there again without its secrets, and not once it was cancelled", async ({
  gatehouse,
  main,
}) => {
  const command = main.getByRole("textbox", { name: "Command", exact: true });
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await main.getByRole("button", { name: "Add server" }).click();
  await dialog
    .getByLabel("Paste a command, a URL, or JSON from any client's settings")
    .fill('{"mcpServers": {"mail": {"command": "mail-server", "env": {"API_TOKEN": "s3cr3t", "REGION": "eu"}}}}');
  await expect(command).toHaveValue("mail-server");
  await expect(dialog.locator("input[type=password]")).toHaveValue("s3cr3t");
  await reopen(gatehouse, main, ["servers.adding", "REGION"]);
  expect(JSON.stringify(await gatehouse.send("page_state", {}))).not.toContain("s3cr3t");
  await expect(command).toHaveValue("mail-server");
  await expect(dialog.locator("input[type=password]")).toHaveValue("");
  const values = await dialog.locator("input").evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
  expect(values).toEqual(expect.arrayContaining(["mail", "API_TOKEN", "REGION", "eu"]));

  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect.poll(() => gatehouse.send("page_state", {})).toEqual({});
  await main.reload();
  await main.getByRole("button", { name: "Add server" }).click();
  await expect(command).toHaveValue("");
});

test("a server's settings that were not saved are there again, and saving ends that", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await main.getByRole("link", { name: "fixture", exact: true }).click();
  await main.getByRole("tab", { name: "Settings" }).click();
  await main.getByLabel("Name", { exact: true }).fill("renamed");
  await reopen(gatehouse, main, ["renamed"]);
  await expect(main.getByLabel("Name", { exact: true })).toHaveValue("renamed");
  await main.getByRole("button", { name: "Save", exact: true }).click();
  await expect(main.getByRole("heading", { name: "renamed" })).toBeVisible();
  await expect.poll(() => gatehouse.send("page_state", {})).toEqual({});
});

test("what was typed just before the page ends is there again", async ({ main }) => {
  await main.getByRole("link", { name: "Activity", exact: true }).click();
  const search = main.getByLabel("Search tools, arguments and results");
  await search.fill("vien");
  // No time for anything else between the last key and the end of the page.
  await main.evaluate(() => {
    document.execCommand("insertText", false, "na");
    setTimeout(() => {
      window.location.reload();
    });
  });
  await expect(search).toHaveValue("vienna");
});

test("arguments of prompts and templates are there again, in the Playground and on the server's page", async ({
  gatehouse,
  main,
}) => {
  const id = await gatehouse.addFixture("fixture");
  await main.getByRole("link", { name: "Playground", exact: true }).click();
  await main.getByLabel("Search tools, prompts and resources").fill("greet");
  await main.getByRole("option", { name: /^greet/i }).click();
  await main.getByRole("combobox", { name: "name" }).fill("Ana");
  await reopen(gatehouse, main, ["Ana"]);
  await expect(main.getByRole("combobox", { name: "name" })).toHaveValue("Ana");

  await main.goto(`${gatehouse.address}/#/servers/${id}/resources`);
  await main.getByRole("option", { name: /fixture:\/\/item/ }).click();
  await main.getByRole("combobox", { name: "id" }).fill("197");
  await reopen(gatehouse, main, ["197"]);
  await expect(main.getByText("fixture://item/197")).toBeVisible();
});

test("a new client and a profile are there again with what was entered, and not once they are done", async ({
  gatehouse,
  main,
}) => {
  await gatehouse.command("clients.add", { name: "Claude Code" });
  await main.getByRole("link", { name: "Clients" }).click();
  await main.getByRole("button", { name: "Add client" }).click();
  const name = main.getByRole("dialog").getByRole("textbox", { name: "Name" });
  await name.fill("Cursor");
  await reopen(gatehouse, main, ["Cursor"]);
  await expect(name).toHaveValue("Cursor");
  await main.getByRole("button", { name: "Create token" }).click();
  await expect(main.getByRole("dialog", { name: /Cursor/ })).toBeVisible();
  // The new token is shown once: it is in no other window.
  await expect.poll(() => gatehouse.send("page_state", {})).toEqual({});
  await main.reload();
  await expect(main.getByRole("article", { name: "Cursor" })).toBeVisible();
  await expect(main.getByRole("dialog")).toBeHidden();

  const settings: ProfileSettings = {
    name: "Work",
    servers: [],
    otherServers: "shown",
    deniedTools: "listed",
    naming: null,
    toolList: "full",
    callsPerMinute: null,
    folders: [],
  };
  await gatehouse.command("profiles.add", { settings });
  const work = main.getByRole("article", { name: "Work" });
  await work.getByRole("button", { name: "Edit" }).click();
  const editor = main.getByRole("dialog", { name: "Edit Work" });
  await editor.getByRole("textbox", { name: /^Calls per minute/ }).fill("30");
  await reopen(gatehouse, main, ["30"]);
  await expect(editor.getByRole("textbox", { name: /^Calls per minute/ })).toHaveValue("30");
  await editor.getByRole("button", { name: "Cancel" }).click();
  await expect(editor).toBeHidden();
  await expect.poll(() => gatehouse.send("page_state", {})).toEqual({});
});

test("a model provider is there again without its key", async ({ gatehouse, main }) => {
  await main.goto(`${gatehouse.address}/#/settings/models`);
  await main.getByRole("button", { name: "Add provider" }).click();
  const dialog = main.getByRole("dialog", { name: "Add provider" });
  await dialog.getByLabel("Name").fill("My own");
  await dialog.getByLabel(/^API key/).fill("sk-e2e-typed");
  await reopen(gatehouse, main, ["My own"]);
  expect(JSON.stringify(await gatehouse.send("page_state", {}))).not.toContain("sk-e2e-typed");
  await expect(dialog.getByLabel("Name")).toHaveValue("My own");
  await expect(dialog.getByLabel(/^API key/)).toHaveValue("");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
  await expect.poll(() => gatehouse.send("page_state", {})).toEqual({});

  // What was stored before the window closed is changed by saving again, and not added twice.
  await main.getByRole("button", { name: "Add provider" }).click();
  await dialog.getByLabel("Base URL").fill("http://127.0.0.1:9/v1");
  await dialog.getByRole("button", { name: "Add and test" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("Name").fill("Renamed");
  await reopen(gatehouse, main, ["Renamed"]);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  expect((await gatehouse.command("models.show", {})).providers.map((one) => one.name)).toEqual(["Renamed"]);
});

test("a server's settings as JSON are there again without a typed secret, and saving ends that", async ({
  gatehouse,
  main,
}) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/settings`);
  await main.getByText("JSON", { exact: true }).click();
  const editor = main.getByRole("textbox", { name: "JSON" });
  await editor.click();
  await main.keyboard.press("Control+a");
  const entry = (token: string) =>
    `{"fixture": {"command": "${gatehouse.program("fixture-server")}", "env": {"REGION": "eu", "API_TOKEN": "${token}`;
  await main.keyboard.insertText(entry("s3cr3t"));
  await reopen(gatehouse, main, ["REGION"]);
  expect(JSON.stringify(await gatehouse.send("page_state", {}))).not.toContain("s3cr3t");
  await expect(editor).toHaveText(`${entry("")}"`);

  // It was begun for a connection that is another one now.
  const fixture = (await gatehouse.command("servers.list", {})).find(({ config }) => config.id === id)?.config;
  if (fixture?.transport.type !== "stdio") throw new Error("no fixture");
  const draft = { ...fixture, transport: { ...fixture.transport, args: ["--lifecycle"] } };
  await gatehouse.command("servers.edit", { server: id, draft, secrets: [] });
  await main.reload();
  await main.getByText("JSON", { exact: true }).click();
  await expect(editor).toContainText("--lifecycle");
  await expect(main.getByRole("button", { name: "Cancel", exact: true })).toBeHidden();

  await editor.click();
  await main.keyboard.press("Control+a");
  await main.keyboard.insertText(`${entry("${secret:NO}")}"}}}`);
  await reopen(gatehouse, main, ["secret:NO"]);
  await main.getByRole("button", { name: "Cancel", exact: true }).click();
  await expect(editor).toContainText("--lifecycle");
  await expect.poll(async () => JSON.stringify(await gatehouse.send("page_state", {}))).not.toContain("secret:NO");
});
