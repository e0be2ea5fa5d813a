import { expect, noViolations, pictures, test } from "./base.ts";

test("a server is tried out in the form, added, and runs", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByLabel("Paste a command").fill(`node ${gatehouse.npmServer("server-filesystem")} "${gatehouse.folder}"`);
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("files");
  await dialog.getByRole("button", { name: "Test connection" }).click();
  await expect(dialog.getByText("It works:")).toBeVisible();
  await expect(dialog.getByText("read_text_file")).toBeVisible();
  await expect(dialog.getByLabel("Trust this server's read-only labels")).not.toBeChecked();
  await dialog.getByLabel("Trust this server's read-only labels").check();
  await noViolations(main);
  if (process.env["GATEHOUSE_SHOTS"]) await main.screenshot({ path: `${process.env["GATEHOUSE_SHOTS"]}/add-server.png` });
  expect((await gatehouse.command("servers.list", {})).length).toBe(2);
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(dialog).toBeHidden();
  const card = main.getByRole("article", { name: "files" });
  await expect(card.getByText("Running")).toBeVisible();
  await pictures(gatehouse, main, "servers");
  await noViolations(main);

  await main.getByRole("article", { name: "files" }).getByRole("button", { name: "Open" }).click();
  await expect(main.getByRole("heading", { name: "files" })).toBeVisible();
  await expect(main.getByRole("radio", { name: "Reads" }).first()).toBeChecked();
  await expect(main.getByText("Always allow all reads of files, for every client", { exact: true })).toBeVisible();
  await pictures(gatehouse, main, "server");
  await noViolations(main);
});

test("what may run unasked is set on the server's page, and each rule is taken back there", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFiles("files", true);
  await main.goto(`${gatehouse.address}/#/servers/${id}/tools`);
  const rules = async () => (await gatehouse.command("policy.show", {})).rules.map(({ sentence }) => sentence);
  await main.getByText("All", { exact: true }).click();
  await expect.poll(rules).toEqual(["Always allow files: everything for every client"]);
  await main.getByRole("button", { name: "Take back: Always allow everything of files" }).click();
  await expect.poll(rules).toEqual([]);

  const tool = main.getByRole("listitem").filter({ hasText: "write_file" });
  await tool.getByText("Block", { exact: true }).click();
  await expect.poll(rules).toEqual([expect.stringContaining("write_file")]);
  const client = await gatehouse.connect("Claude Code");
  const refused = await client.call("write_file", { path: `${gatehouse.folder}/x`, content: "y" });
  expect(refused.isError).toBe(true);
  await tool.getByText("Ask", { exact: true }).click();
  await expect.poll(rules).toEqual([]);

  await main.getByLabel("Access class of read_text_file").selectOption("write");
  await expect(main.getByRole("listitem").filter({ hasText: "Read Text File" })).toContainText("you said so");
});

test("a server that cannot start says so in words, and is put right in its settings", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("broken");
  await dialog.getByLabel("Command", { exact: true }).fill("no-such-program-anywhere");
  await dialog.getByRole("button", { name: "Test connection" }).click();
  await expect(dialog.getByRole("alert")).toContainText("no-such-program-anywhere");
  await dialog.getByRole("button", { name: "Add server" }).click();
  const card = main.getByRole("article", { name: "broken" });
  await expect(card).toContainText("no-such-program-anywhere");
  await card.getByRole("button", { name: "Details" }).click();
  await expect(card).toContainText("1 attempts");
  await noViolations(main);
  if (process.env["GATEHOUSE_SHOTS"]) await main.screenshot({ path: `${process.env["GATEHOUSE_SHOTS"]}/failed.png` });

  await card.getByRole("link", { name: "broken" }).click();
  await main.getByRole("tab", { name: "Settings" }).click();
  await main.getByLabel("Command", { exact: true }).fill(gatehouse.program("fixture-server"));
  await main.getByRole("button", { name: "Save" }).click();
  await expect(main.getByText("Running")).toBeVisible();
  await noViolations(main);
  await main.getByRole("tab", { name: "Logs" }).click();
  await noViolations(main);
});

test("servers are switched, copied, removed, and all of MCP is switched off and on", async ({ gatehouse, main }) => {
  const notes = main.getByRole("article", { name: "Notes", exact: true });
  await notes.getByRole("switch").click({ force: true });
  await expect(notes.getByText("Off")).toBeVisible();
  await notes.getByRole("button", { name: "Start" }).click();
  await expect(notes.getByText("Running")).toBeVisible();
  await notes.getByRole("button", { name: "More for Notes" }).click();
  await main.getByRole("menuitem", { name: "Duplicate" }).click();
  const copy = main.getByRole("article", { name: "Notes copy" });
  await expect(copy).toBeVisible();
  await copy.getByRole("button", { name: "More for Notes copy" }).click();
  await main.getByRole("menuitem", { name: "Remove…" }).click();
  await main.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(copy).toBeHidden();

  await main.getByRole("button", { name: "More for all servers" }).click();
  await main.getByRole("menuitem", { name: "Switch MCP off" }).click();
  await expect(main.getByText("MCP is switched off")).toBeVisible();
  expect((await gatehouse.command("status", {})).running).toBe(0);
  await main.getByRole("button", { name: "Switch on" }).click();
  await expect(notes.getByText("Running")).toBeVisible();
});

test("a secret goes to the keychain and into no file that people read", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog");
  const json = { mcpServers: { keyed: { command: gatehouse.program("fixture-server"), env: { API_KEY: "s3cret-value" } } } };
  await dialog.getByLabel("Paste a command").fill(JSON.stringify(json));
  await expect(dialog.getByLabel("Secret")).toBeChecked();
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(main.getByRole("article", { name: "keyed" }).getByText("Running")).toBeVisible();
  const listed = JSON.stringify(await gatehouse.command("servers.list", {}));
  expect(listed).toContain("${secret:API_KEY}");
  expect(listed).not.toContain("s3cret-value");
});
