// The MCP registry in the dialog that adds a server, newer versions on a server's page, and `gatehouse://` links. All
// of them only fill forms.

import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { expect, noViolations, pictures, test, type Gatehouse } from "./base.ts";

const name = "io.example/weather";

const weather = (version: string) => ({
  name,
  title: "Weather station",
  description: "Says the weather",
  version,
  packages: [
    {
      registryType: "npm",
      identifier: "@example/weather",
      version,
      environmentVariables: [
        { name: "CITY", isRequired: true, description: "Where you are" },
        { name: "UNITS", default: "celsius", choices: ["celsius", "fahrenheit"] },
        { name: "API_KEY", isRequired: true, isSecret: true },
      ],
    },
    {
      registryType: "mcpb",
      identifier: "https://github.com/example/weather/weather.mcpb",
      fileSha256: "ab".repeat(32),
    },
  ],
});

const listed = (server: object, isLatest = true) => ({
  server,
  _meta: { "io.modelcontextprotocol.registry/official": { status: "active", isLatest } },
});

/** A registry with these versions of one entry, the newest first. */
async function startRegistry(gatehouse: Gatehouse, versions: string[]): Promise<{ stop: () => void; asked: string[] }> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://registry");
    asked.push(`${url.pathname}${url.search}`);
    const path = `/v0.1/servers/${encodeURIComponent(name)}/versions`;
    const entries = versions.map((version, at) => listed(weather(version), at === 0));
    const one = url.pathname.slice(path.length + 1);
    const found =
      url.pathname === "/v0.1/servers"
        ? { servers: url.searchParams.get("search") === "nothing" ? [] : [entries[0], { server: { name: 7 } }] }
        : url.pathname === path
          ? { servers: entries }
          : entries[one === "latest" ? 0 : versions.indexOf(one)];
    response.statusCode = found === undefined ? 404 : 200;
    response.end(JSON.stringify(found ?? {}));
  });
  return { asked, ...(await useRegistry(gatehouse, server)) };
}

/** Makes a server the registry of Gatehouse. */
async function useRegistry(gatehouse: Gatehouse, server: Server): Promise<{ stop: () => void }> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const kept = await gatehouse.command("settings.show", {});
  await gatehouse.command("settings.set", {
    auditDays: kept.auditDays,
    activityDays: kept.activityDays,
    activityCalls: kept.activityCalls,
    packages: null,
    clientDocument: null,
    calls: null,
    toolNames: null,
    allowedHosts: null,
    registry: `http://127.0.0.1:${String(port)}`,
  });
  return {
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

test("a search that takes long is cancelled, and its connection is closed", async ({ gatehouse, main }) => {
  const open = new Set<unknown>();
  const registry = await useRegistry(
    gatehouse,
    createServer(({ socket }) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    }),
  );
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Browse the registry" }).click();
  const waiting = dialog.getByRole("status").filter({ hasText: "Loading" });
  await waiting.getByRole("button", { name: "Cancel" }).click();
  await expect(waiting).toBeHidden();
  await expect.poll(() => open.size).toBe(0);
  await expect(dialog.getByRole("alert")).toHaveCount(0);
  registry.stop();
});

test("an entry of the registry fills the form in, and nothing else happens", async ({ gatehouse, main }) => {
  const registry = await startRegistry(gatehouse, ["1.2.0", "1.1.0"]);
  const before = (await gatehouse.command("servers.list", {})).length;
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Browse the registry" }).click();
  await expect(dialog.getByText("1 entry is left out because Gatehouse can't read it.")).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "registry-list");
  await dialog.getByRole("textbox", { name: "Search by name" }).fill("nothing");
  await expect(dialog.getByText("Nothing found")).toBeVisible();
  await dialog.getByRole("textbox", { name: "Search by name" }).fill("weather");
  await dialog.getByRole("button", { name: /Weather station/ }).click();

  await expect(dialog.getByRole("region", { name: "Entry of the registry" })).toContainText(name);
  await dialog.getByRole("combobox", { name: "How to run it" }).selectOption({ index: 1 });
  await expect(dialog.getByText("It is a bundle file.")).toBeVisible();
  await dialog.getByRole("button", { name: "Download", exact: true }).click();
  expect(await gatehouse.noted()).toContain("browser https://github.com/example/weather/weather.mcpb");
  await dialog.getByRole("button", { name: "Open the downloaded file" }).click();
  await expect(dialog.getByText("only if it is the one that the registry entry lists")).toBeVisible();
  await noViolations(main);
  writeFileSync(join(gatehouse.folder, "weather.mcpb"), "something else");
  await dialog.getByRole("textbox", { name: "Bundle file" }).fill(join(gatehouse.folder, "weather.mcpb"));
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("The file isn't the one that the registry entry lists.");
  await pictures(gatehouse, main, "registry-bundle");
  await dialog.getByRole("tab", { name: "Browse the registry" }).click();
  await dialog.getByRole("button", { name: /Weather station/ }).click();
  await dialog.getByRole("combobox", { name: "How to run it" }).selectOption({ index: 0 });
  await dialog.getByRole("button", { name: "Fill in the form" }).click();
  await expect(dialog.getByText("This is required.")).toHaveCount(2);
  await dialog.getByRole("textbox", { name: "CITY" }).fill("Bonn");
  await dialog.getByLabel("API_KEY").fill("k3y-of-mine");
  await noViolations(main);
  await pictures(gatehouse, main, "registry-entry");
  await dialog.getByRole("button", { name: "Fill in the form" }).click();

  await expect(dialog.getByRole("textbox", { name: "Name", exact: true }).first()).toHaveValue("weather");
  await expect(dialog.getByRole("textbox", { name: "Command", exact: true })).toHaveValue(
    "npx -y @example/weather@1.2.0",
  );
  expect((await gatehouse.command("servers.list", {})).length).toBe(before);
  expect(registry.asked.join(" ")).not.toContain("k3y-of-mine");
  registry.stop();
});

test("a newer version is shown and filled into the settings", async ({ gatehouse, main }) => {
  const registry = await startRegistry(gatehouse, ["1.3.0", "1.2.0"]);
  const filled = await gatehouse.command("registry.fill", {
    name,
    version: "1.2.0",
    option: "npm:@example/weather",
    values: { CITY: "Bonn" },
    secrets: ["API_KEY"],
    run: null,
  });
  const { config } = await gatehouse.command("servers.add", {
    draft: { ...filled.draft, enabled: false },
    secrets: [{ field: "env/API_KEY", value: "k3y" }],
    trustLabels: false,
    run: null,
  });
  await main.goto(`${gatehouse.address}/#/servers/${config.id}/tools`);
  await expect(main.getByText("Update available: 1.2.0 → 1.3.0")).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "registry-update");
  await main.getByRole("link", { name: "Fill in the new version" }).click();
  await expect(main.getByText("The form has version 1.3.0 filled in. Check it, then save.")).toBeVisible();
  await expect(main.getByRole("textbox", { name: "Command", exact: true })).toHaveValue(
    "npx -y @example/weather@1.3.0",
  );
  // It does not come back in a new window without the word that the registry filled it in.
  await expect.poll(async () => JSON.stringify(await gatehouse.send("page_state", {}))).toContain("weather@1.3.0");
  await main.reload();
  await expect(main.getByText("The form has version 1.3.0 filled in. Check it, then save.")).toBeVisible();
  await expect(main.getByRole("textbox", { name: "Command", exact: true })).toHaveValue(
    "npx -y @example/weather@1.3.0",
  );
  const unchanged = (await gatehouse.command("servers.list", {})).find((it) => it.config.id === config.id);
  expect(unchanged?.config.registry?.version).toBe("1.2.0");
  await main.getByRole("button", { name: "Cancel" }).click();
  await expect(main.getByRole("textbox", { name: "Command", exact: true })).toHaveValue(
    "npx -y @example/weather@1.2.0",
  );
  registry.stop();
});

test("while the registry is away, the last answer is shown with its time", async ({ gatehouse, main }) => {
  const registry = await startRegistry(gatehouse, ["1.2.0"]);
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByRole("tab", { name: "Browse the registry" }).click();
  await expect(dialog.getByRole("button", { name: /Weather station/ })).toBeVisible();
  registry.stop();
  await dialog.getByRole("button", { name: "Reload" }).click();
  await expect(dialog.getByText("The registry can't be reached. This is what it said on")).toBeVisible();
  await expect(dialog.getByRole("button", { name: /Weather station/ })).toBeVisible();
  await pictures(gatehouse, main, "registry-away");
  await dialog.getByRole("textbox", { name: "Search by name" }).fill("never asked for");
  await expect(dialog.getByText("The registry can't be used.")).toBeVisible();
  await noViolations(main);
});

test("a link opens the form and adds nothing", async ({ gatehouse, main }) => {
  const before = (await gatehouse.command("servers.list", {})).length;
  const link = "gatehouse://add?name=Weather&command=npx&args=-y&args=weather&env=CITY%3DBonn&env=API_KEY%3Dabc";
  await expect(main.getByRole("heading", { level: 1 })).toBeVisible();
  await gatehouse.send("open_server_link", ["--flag", link, "gatehouse://add?command=second"]);
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await expect(dialog.getByText("This came from a link. Check what it runs.")).toBeVisible();
  await expect(dialog.getByText("The link had values for secrets.")).toBeVisible();
  await expect(dialog.getByRole("textbox", { name: "Name", exact: true }).first()).toHaveValue("Weather");
  await expect(dialog.getByRole("textbox", { name: "Command", exact: true })).toHaveValue("npx -y weather");
  expect(await main.content()).not.toContain("abc");
  await noViolations(main);
  await pictures(gatehouse, main, "link");

  // What is open stays, whatever else comes.
  await dialog.getByRole("textbox", { name: "Name", exact: true }).first().fill("Mine");
  await gatehouse.send("open_server_link", ["gatehouse://add?command=other"]);
  await expect(dialog.getByText("Another link was opened meanwhile.")).toBeVisible();
  await expect(dialog.getByRole("textbox", { name: "Name", exact: true }).first()).toHaveValue("Mine");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();

  await gatehouse.send("open_server_link", ["gatehouse://add?command=a&command=b"]);
  await expect(dialog.getByText("The link can't be used.")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await expect(dialog).toBeHidden();
  expect((await gatehouse.command("servers.list", {})).length).toBe(before);
});

test("a link to an entry of the registry opens the entry", async ({ gatehouse, main }) => {
  const registry = await startRegistry(gatehouse, ["1.2.0", "1.1.0"]);
  await expect(main.getByRole("heading", { level: 1 })).toBeVisible();
  await gatehouse.send("open_server_link", [`gatehouse://add?registry=${encodeURIComponent(name)}&version=1.1.0`]);
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await expect(dialog.getByRole("combobox", { name: "Version" })).toHaveValue("1.1.0");
  registry.stop();
});
