import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, noViolations, pictures, test } from "./base.ts";

/** Whether a process is there. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a server is tried out in the form, added, and runs", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog
    .getByLabel("Paste a command")
    .fill(`node ${gatehouse.npmServer("server-filesystem")} "${gatehouse.folder}"`);
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("files");
  await dialog.getByRole("button", { name: "Test connection" }).click();
  await expect(dialog.getByText("Connected:")).toBeVisible();
  await expect(dialog.getByText("read_text_file")).toBeVisible();
  await expect(dialog.getByLabel("Trust this server's read-only labels")).not.toBeChecked();
  await dialog.getByLabel("Trust this server's read-only labels").check();
  await noViolations(main);
  if (process.env["GATEHOUSE_SHOTS"])
    await main.screenshot({ path: `${process.env["GATEHOUSE_SHOTS"]}/add-server.png` });
  expect((await gatehouse.command("servers.list", {})).length).toBe(2);
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(dialog).toBeHidden();
  const card = main.getByRole("article", { name: "files" });
  await expect(card.getByText("Running")).toBeVisible();
  await pictures(gatehouse, main, "servers");
  await noViolations(main);

  await main.getByRole("article", { name: "files" }).getByRole("button", { name: "Open" }).click();
  await expect(main.getByRole("heading", { name: "files" })).toBeVisible();
  await expect(main.getByRole("radio", { name: "Allow reads" })).toBeChecked();
  await expect(
    main
      .getByRole("list", { name: "Rules for this server" })
      .getByText("Always allow all reads of files, for every client", { exact: true }),
  ).toBeVisible();
  await pictures(gatehouse, main, "server");
  await noViolations(main);
});

test("a connection test that takes long says so, and cancelling it ends its process", async ({ gatehouse, main }) => {
  const pidFile = join(gatehouse.folder, "pid");
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("textbox", { name: "Name", exact: true }).first().fill("silent");
  await dialog
    .getByRole("textbox", { name: "Command", exact: true })
    .fill(`sh -c 'echo $$ > "${pidFile}"; exec sleep 600'`);
  await dialog.getByRole("button", { name: "Test connection" }).click();
  const progress = main.getByRole("status").filter({ hasText: "Testing the connection…" });
  await expect(progress).toBeVisible();
  const pid = Number(readFileSync(pidFile, "utf8"));
  expect(isRunning(pid)).toBe(true);
  await noViolations(main);
  await pictures(gatehouse, main, "slow-test");
  await progress.getByRole("button", { name: "Cancel" }).click();
  await expect.poll(() => isRunning(pid)).toBe(false);
  await expect(dialog.getByRole("button", { name: "Test connection" })).toBeEnabled();
  await expect(progress).toBeHidden();
});

test("what may run unasked is set on the server's page, and each rule is taken back there", async ({
  gatehouse,
  main,
}) => {
  const id = await gatehouse.addFiles("files", true);
  await main.goto(`${gatehouse.address}/#/servers/${id}/tools`);
  const rules = () => gatehouse.rules();
  await main.getByText("Allow everything", { exact: true }).click();
  await expect.poll(rules).toEqual(["Always allow everything on files, for every client"]);
  await main.getByRole("button", { name: "Revoke: Always allow everything on files" }).click();
  await expect.poll(rules).toEqual([]);

  const read = main.getByRole("listitem").filter({ hasText: "Read Text File" });
  const readRule = read.getByRole("radiogroup");
  const free = main.getByLabel("Auto-approve");
  await free.getByText("Allow reads", { exact: true }).click();
  await expect.poll(rules).toHaveLength(1);
  await expect(readRule.getByRole("radio", { name: "Allow" })).toBeChecked();
  await expect(readRule.getByRole("radio", { name: "Ask" })).toBeDisabled();
  await expect(main.getByText("10 of 14 tools run without asking.")).toBeVisible();
  await readRule.getByText("Block", { exact: true }).click();
  await expect.poll(rules).toHaveLength(2);
  await expect(main.getByText("9 of 14 tools run without asking.")).toBeVisible();
  await noViolations(main);
  await readRule.getByText("Allow", { exact: true }).click();
  await expect.poll(rules).toHaveLength(1);
  await free.getByText("Always ask", { exact: true }).click();
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
  await expect(main.getByRole("listitem").filter({ hasText: "Read Text File" })).toContainText("your choice");
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
  await expect(card).toContainText("1 attempt");
  await expect(card).toContainText("Tried: no-such-program-anywhere");
  await expect(card.getByText(/^Stopped: .*no-such-program-anywhere/)).toBeVisible();
  await noViolations(main);
  if (process.env["GATEHOUSE_SHOTS"]) await main.screenshot({ path: `${process.env["GATEHOUSE_SHOTS"]}/failed.png` });

  await card.getByRole("link", { name: "broken" }).click();
  await main.getByRole("tab", { name: "Settings" }).click();
  await main.getByLabel("Command", { exact: true }).fill(gatehouse.program("fixture-server"));
  await main.getByRole("button", { name: "Save" }).click();
  await expect(main.getByText(/^Running/)).toBeVisible();
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
  await notes.getByRole("button", { name: "More actions for Notes" }).click();
  await main.getByRole("menuitem", { name: "Duplicate" }).click();
  const copy = main.getByRole("article", { name: "Notes copy" });
  await expect(copy).toBeVisible();
  await copy.getByRole("button", { name: "More actions for Notes copy" }).click();
  await main.getByRole("menuitem", { name: "Remove" }).click();
  await expect(copy).toBeHidden();

  await main.getByRole("button", { name: "More actions for all servers" }).click();
  await main.getByRole("menuitem", { name: "Turn MCP off" }).click();
  await expect(main.getByText("MCP is off")).toBeVisible();
  expect((await gatehouse.command("status", {})).running).toBe(0);
  await main.getByRole("button", { name: "Turn on" }).click();
  await expect(notes.getByText("Running")).toBeVisible();
});

test("a secret goes to the keychain and into no file that people read", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog");
  const json = {
    mcpServers: { keyed: { command: gatehouse.program("fixture-server"), env: { API_KEY: "s3cret-value" } } },
  };
  await dialog.getByLabel("Paste a command").fill(JSON.stringify(json));
  await expect(dialog.getByLabel("Secret")).toBeChecked();
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(main.getByRole("article", { name: "keyed" }).getByText("Running")).toBeVisible();
  const listed = JSON.stringify(await gatehouse.command("servers.list", {}));
  expect(listed).toContain("${secret:API_KEY}");
  expect(listed).not.toContain("s3cret-value");
  expect(await main.content()).not.toContain("s3cret-value");

  await main.getByRole("link", { name: "keyed" }).click();
  await main.getByRole("tab", { name: "Settings" }).click();
  await main.getByRole("button", { name: "More settings" }).click();
  await main.getByRole("textbox", { name: "Description" }).fill("has a key");
  await main.getByRole("button", { name: "Save" }).click();
  await expect(main.locator("header").getByText("has a key")).toBeVisible();
  await main.getByLabel("Command", { exact: true }).fill(`${gatehouse.program("fixture-server")} --other`);
  await expect(main.getByText("The program, its environment or the address has changed")).toBeVisible();
  await noViolations(main);
  await main.getByRole("button", { name: "Remove this server" }).click();
  await expect(main.getByRole("article", { name: "keyed" })).toBeHidden();
  await expect(main.getByRole("heading", { name: "Servers" })).toBeVisible();
});

test("reads that count as such only later are let in by a button", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFiles("files");
  await main.goto(`${gatehouse.address}/#/servers/${id}/tools`);
  await main.getByLabel("Auto-approve").getByText("Allow reads", { exact: true }).click();
  await expect(main.getByText("0 of 14 tools run without asking.")).toBeVisible();
  await expect(main.getByText("No tool counts as read-only")).toBeVisible();
  await main.getByRole("switch", { name: "Trust read-only labels" }).click({ force: true });
  await expect(main.getByText("New or changed tools that still ask (10):")).toBeVisible();
  await noViolations(main);
  await main.getByRole("button", { name: "Allow these too" }).click();
  await expect(main.getByText("10 of 14 tools run without asking.")).toBeVisible();
  const client = await gatehouse.connect("Claude Code");
  expect((await client.call("list_allowed_directories", {})).isError ?? false).toBe(false);
});

test("a server that is out of reach counts down to its next try, and is tried at once on demand", async ({
  gatehouse,
  main,
}) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog");
  await dialog.getByLabel("Paste a command").fill("http://127.0.0.1:9/mcp");
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("far");
  await dialog.getByRole("button", { name: "Add server" }).click();
  const card = main.getByRole("article", { name: "far" });
  await expect(card.getByText(/^Stopped: /)).toBeVisible();
  await expect(card.getByText(/Retrying in [1-9]\d* s/)).toBeVisible();
  const { config } = (await gatehouse.command("servers.list", {})).find((it) => it.config.name === "far") ?? {};
  const tries = async () =>
    (await gatehouse.command("events.list", {})).filter(
      ({ event }) => event.event === "status_changed" && event.server === config?.id && event.cause.cause === "user",
    ).length;
  const before = await tries();
  await card.getByRole("button", { name: "Try again" }).click();
  await expect.poll(tries).toBeGreaterThan(before);
});

test("what is wrong in the form is said at its place, and the keyboard goes there", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog");
  await dialog.getByLabel("Paste a command").fill("{nothing");
  await expect(dialog.getByText("Not a command, URL or settings format")).toBeVisible();
  await dialog.getByRole("button", { name: "Test connection" }).press("Enter");
  const name = dialog.getByRole("textbox", { name: "Name", exact: true });
  await expect(name).toBeFocused();
  await expect(dialog.getByText("Enter a name.")).toBeVisible();
  await expect(dialog.getByText("Enter a command.")).toBeVisible();
  await name.fill("notes");
  await expect(dialog.getByText("Another server already has this name.")).toBeVisible();
  await noViolations(main);
  await main.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  expect((await gatehouse.command("servers.list", {})).length).toBe(2);
});
