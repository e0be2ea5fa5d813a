import { existsSync, rmSync, statSync } from "node:fs";

import { expect, noViolations, pictures, test, type Gatehouse } from "./base.ts";

/** Writes the fixture's note, as a user who tries the tool. */
const note = async (gatehouse: Gatehouse, text: string) =>
  gatehouse.command("servers.callTool", {
    server: "fixture",
    tool: "write_note",
    arguments: JSON.stringify({ text }),
    run: null,
    client: null,
  });

test("a resource is read, watched, and read again when it changes", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await note(gatehouse, "buy milk");
  await main.goto(`${gatehouse.address}/#/servers/${id}/resources`);
  await main.getByRole("option", { name: /^Note/ }).click();
  await main.getByRole("button", { name: "Read", exact: true }).click();
  await expect(main.getByText("buy milk", { exact: true })).toBeVisible();
  await noViolations(main);
  await main.getByLabel("Watch for changes").click({ force: true });
  await expect
    .poll(async () => (await gatehouse.command("servers.catalog", { server: id })).watched)
    .toEqual(["fixture://note"]);
  await expect(main.getByLabel("Watch for changes")).toBeChecked();
  await note(gatehouse, "call Bo");
  await expect(main.getByText("call Bo", { exact: true })).toBeVisible();
  await expect(main.getByText(/^Updated /)).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "resources");
  await main.getByLabel("Watch for changes").click({ force: true });
  await expect.poll(async () => (await gatehouse.command("servers.catalog", { server: id })).watched).toEqual([]);
});

test("what is too long is cut, and the whole is saved; pictures are seen", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/resources`);
  await main.getByRole("listbox", { name: "Resources" }).press("Home");
  await main.getByRole("option", { name: /fixture:\/\/big/ }).click();
  await main.getByRole("button", { name: "Read", exact: true }).click();
  await expect(main.getByText(/^Showing the first .* of 2.1 MB\. Save/)).toBeVisible();
  await main.getByRole("button", { name: "Save everything" }).click();
  const said = main.getByRole("alert").filter({ hasText: "Saved" });
  await expect(said).toBeVisible();
  const path = /\S*[/\\]\S+/.exec((await said.innerText()).replace("Saved", ""))?.[0] ?? "";
  expect(existsSync(path), path).toBe(true);
  expect(statSync(path).size).toBeGreaterThanOrEqual(2 * 1024 * 1024);
  rmSync(path);

  await main.getByRole("option", { name: /fixture:\/\/image/ }).click();
  await main.getByRole("button", { name: "Read", exact: true }).click();
  const picture = main.getByRole("img", { name: "fixture://image" });
  await expect(picture).toBeVisible();
  expect(await picture.evaluate((it) => (it as HTMLImageElement).naturalWidth)).toBe(1);
  await noViolations(main);
});

test("a template is filled in with what the server proposes", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/resources`);
  await main.getByLabel("Filter resources").fill("item");
  await expect(main.getByRole("listbox", { name: "Resources" }).getByRole("option")).toHaveCount(1);
  await main.getByRole("option", { name: /fixture:\/\/item/ }).click();
  const read = main.getByRole("button", { name: "Read", exact: true });
  await expect(read).toBeDisabled();
  await main.getByRole("combobox", { name: "id" }).pressSequentially("19");
  await main.getByRole("option", { name: "197", exact: true }).click();
  await expect(main.getByText("fixture://item/197")).toBeVisible();
  await read.click();
  await expect(main.getByText("Done")).toBeVisible();
  await noViolations(main);
  await main.getByRole("combobox", { name: "id" }).fill("no such");
  await expect(main.getByText("fixture://item/no%20such")).toBeVisible();
  await read.click();
  await expect(main.getByText("no such resource", { exact: true })).toBeVisible();
});

test("a prompt is filled in and got", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/prompts`);
  await main.getByRole("option", { name: /^greet/i }).click();
  await main.getByRole("button", { name: "Get" }).click();
  await expect(main.getByText("This field is required.")).toBeVisible();
  await main.getByRole("combobox", { name: "name" }).fill("Ana");
  await main.getByRole("combobox", { name: "tone" }).pressSequentially("f");
  await main.getByRole("option", { name: "friendly" }).click();
  await main.getByRole("button", { name: "Get" }).click();
  await expect(main.getByText("Done")).toBeVisible();
  await expect(main.getByText(/Ana/).first()).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "prompts");
});

test("a server that offers neither says so", async ({ gatehouse, main }) => {
  const time = (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === "Time");
  if (!time) throw new Error("no Time");
  await main.goto(`${gatehouse.address}/#/servers/${time.config.id}/resources`);
  await expect(main.getByText("No resources", { exact: true })).toBeVisible();
  await noViolations(main);
  await main.getByRole("tab", { name: "Prompts" }).click();
  await expect(main.getByText("No prompts", { exact: true })).toBeVisible();
});

test("what a server logs is named, coloured and filtered", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/logs`);
  await main.getByLabel("Server log level").selectOption("info");
  const say = async (level: string, text: string) =>
    gatehouse.command("servers.callTool", {
      server: id,
      tool: "say",
      arguments: JSON.stringify({ level, text }),
      run: null,
      client: null,
    });
  const log = main.getByRole("log");
  const well = log.getByText("all is well").first();
  // Nothing shows when the server has taken the level.
  await expect(async () => {
    await say("info", "all is well");
    await expect(well).toBeVisible({ timeout: 500 });
  }).toPass();
  await say("error", "all is lost");
  await expect(log.getByText("all is lost")).toBeVisible();
  await expect(log.getByText("error", { exact: true })).toBeVisible();
  await noViolations(main);
  await main.getByLabel("Minimum level").selectOption("warning");
  await expect(well).toBeHidden();
  await expect(log.getByText("all is lost")).toBeVisible();
  await main.getByLabel("Source", { exact: true }).selectOption("stderr");
  await expect(main.getByText("No lines match.")).toBeVisible();
});

test("the calls of one server stand on its page", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await gatehouse.command("policy.autoApprove", { server: "fixture", client: null, to: "all" });
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  await client.call("current_time", {});
  await client.call("read_note", {});
  await main.goto(`${gatehouse.address}/#/servers/${id}/activity`);
  await expect(main.getByRole("button", { name: /read_note of fixture/ })).toBeVisible();
  await expect(main.getByRole("button", { name: /current_time/ })).toHaveCount(0);
  await noViolations(main);
});
