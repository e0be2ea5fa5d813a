// The editor of profiles: what it saves, what it refuses, both languages; and servers that a project asks for.

import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, noViolations, pictures, test, type Gatehouse } from "./base.ts";

function project(gatehouse: Gatehouse, name: string): string {
  const folder = join(gatehouse.folder, name);
  mkdirSync(folder);
  return realpathSync(folder);
}

test("a profile sets names, a limit, strict mode and folders", async ({ gatehouse, main }) => {
  await gatehouse.addFixture("fixture");
  await gatehouse.connect("Claude Code", "2025-11-25");
  const folder = project(gatehouse, "app");
  await main.getByRole("link", { name: "Clients" }).click();
  await main.getByRole("button", { name: "Add profile" }).click();
  const editor = main.getByRole("dialog", { name: "Add profile" });
  await editor.getByRole("textbox", { name: "Name", exact: true }).fill("Work");
  await editor.getByRole("switch", { name: /^Only the servers of this profile/ }).check();
  await editor.getByRole("checkbox", { name: "fixture", exact: true }).check();
  await editor.getByRole("switch", { name: /^Hide tools that you've blocked/ }).check();
  await editor.getByRole("combobox", { name: "Tool names" }).click();
  await main.getByRole("option", { name: "server__tool", exact: true }).click();
  await editor.getByRole("textbox", { name: /^Calls per minute/ }).fill("30");
  const folders = editor.getByRole("textbox", {
    name: "Project folders, one per line",
  });
  // A folder that doesn't exist is refused, and nothing else is lost.
  await folders.fill(`${folder}\n/no/such/folder`);
  await editor.getByRole("button", { name: "Save" }).click();
  await expect(editor.getByRole("alert")).toContainText("/no/such/folder");
  await noViolations(main);
  await folders.fill(`${folder}\n`);
  await editor.getByRole("button", { name: "Save" }).click();
  await expect(editor).toBeHidden();

  const work = main.getByRole("article", { name: "Work" });
  await expect(work).toContainText(`Project folder ${folder}`);
  // A strict profile has no other servers than its own.
  await expect(work.getByRole("button", { name: "Add servers from .mcp.json" })).toBeHidden();
  const [saved] = await gatehouse.command("profiles.list", {});
  const fixture = (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === "fixture");
  expect(saved?.profile.settings).toEqual({
    name: "Work",
    servers: [{ server: fixture?.config.id, tools: { shows: "all" } }],
    otherServers: "hidden",
    deniedTools: "hidden",
    naming: "server",
    toolList: "full",
    callsPerMinute: 30,
    folders: [folder],
  });

  // The client costs what its profile shows in its folder, and sees nothing elsewhere.
  const card = main.getByRole("article", { name: "Claude Code" });
  await card.getByRole("combobox", { name: "Profile of Claude Code" }).click();
  await main.getByRole("option", { name: "Work" }).click();
  await expect(work).toContainText("Used by Claude Code");
  await expect
    .poll(async () => (await gatehouse.command("clients.list", {}))[0]?.toolList)
    .toEqual((await gatehouse.command("profiles.list", {}))[0]?.toolList);

  // What is edited is what was saved.
  await work.getByRole("button", { name: "Edit" }).click();
  const again = main.getByRole("dialog", { name: "Edit Work" });
  await expect(again.getByRole("textbox", { name: "Project folders, one per line" })).toHaveValue(folder);
  await expect(again.getByRole("switch", { name: /^Only the servers of this profile/ })).toBeChecked();
  await again.getByRole("button", { name: "Cancel" }).click();

  await gatehouse.look("light", "zh-CN");
  await main.reload();
  await main.getByRole("article", { name: "Work" }).getByRole("button", { name: "编辑" }).click();
  await expect(main.getByRole("textbox", { name: "项目文件夹，每行一个" })).toHaveValue(folder);
  await expect(main.getByRole("switch", { name: /^仅限此配置文件的服务器/ })).toBeChecked();
  await noViolations(main);
  await main.getByRole("button", { name: "取消" }).click();
  await gatehouse.look("light", "en");
});

test("a project's servers are added after the user agreed", async ({ gatehouse, main }) => {
  const folder = project(gatehouse, "app");
  const entry = {
    command: gatehouse.program("fixture-server"),
    args: [],
    env: { MODE: "project" },
  };
  const file = join(folder, ".mcp.json");
  writeFileSync(
    file,
    JSON.stringify({
      mcpServers: { local: entry, unwanted: entry, broken: {} },
    }),
  );
  await gatehouse.command("clients.add", { name: "Claude Code" });
  await gatehouse.command("profiles.add", {
    settings: {
      name: "App",
      servers: [],
      otherServers: "shown",
      deniedTools: "listed",
      naming: null,
      toolList: "full",
      callsPerMinute: null,
      folders: [folder],
    },
  });
  await main.getByRole("link", { name: "Clients" }).click();
  const card = main.getByRole("article", { name: "App" });
  await card.getByRole("button", { name: "Add servers from .mcp.json" }).click();
  await expect(card).toContainText(`${file}: see Approvals for local, unwanted.`);
  await expect(card.getByRole("alert")).toContainText("broken");
  await noViolations(main);

  await main.getByRole("link", { name: "Approvals" }).click();
  const question = main.getByRole("article").filter({ hasText: "Adds the server local." });
  await expect(question).toContainText(`A project asks for a server: ${file}`);
  for (const shown of ["fixture-server", "project", folder, "profile App"]) await expect(question).toContainText(shown);
  await pictures(gatehouse, main, "project-server");
  await noViolations(main);
  const names = async () => (await gatehouse.command("servers.list", {})).map(({ config }) => config.name);
  expect(await names()).not.toContain("local");
  const add = question.getByRole("button", { name: "Add server" });
  await expect(add).toHaveAttribute("aria-disabled", "false");
  await add.click();
  await expect.poll(names).toContain("local");
  const other = main.getByRole("article").filter({ hasText: "Adds the server unwanted." });
  const decline = other.getByRole("button", { name: "Don't add" });
  await expect(decline).toHaveAttribute("aria-disabled", "false");
  await decline.click();
  await expect.poll(async () => (await gatehouse.command("approvals.list", { known: [] })).length).toBe(0);
  expect(await names()).not.toContain("unwanted");
  // A client that isn't in the project doesn't see it.
  await expect
    .poll(
      async () => (await gatehouse.command("servers.list", {})).find((it) => it.config.name === "local")?.status.state,
    )
    .toBe("connected");
  const tools = async () => (await gatehouse.command("clients.list", {}))[0]?.toolList.tools ?? 0;
  const ofProfile = async () => (await gatehouse.command("profiles.list", {}))[0]?.toolList.tools ?? 0;
  await expect.poll(async () => (await ofProfile()) > (await tools())).toBe(true);
});
