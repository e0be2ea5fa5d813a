// A Gatehouse that has been in use: servers in several states, two clients with calls that were allowed, denied and
// failed, rules, a profile, settings of other applications, and an MCP registry of its own.

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";

import type { ServerDraft } from "../../../ui/src/generated/types.ts";
import { expect, type AiClient, type Gatehouse } from "../base.ts";
import { zip } from "../zip.ts";

/** Names of the servers that pictures are about. */
export const files = "Documents";
export const wiki = "Team wiki";
export const memory = "Memory";
export const broken = "Calendar";

/** Text files of the user. */
export const notes = "# Meeting\n\n- Choose a date\n- Call Bo about the budget\n- Send the plan\n";

/** The folder that the file server shows. */
export const documents = (gatehouse: Gatehouse) => join(gatehouse.home, "Documents");

/** A bundle that can be opened. */
export const bundle = (gatehouse: Gatehouse) => join(gatehouse.home, "teller.mcpb");

const clients = new WeakMap<Gatehouse, AiClient[]>();

/** A client that is connected: Claude Code, or Cursor. */
export function client(gatehouse: Gatehouse, name: "Claude Code" | "Cursor"): AiClient {
  const found = clients.get(gatehouse)?.[name === "Claude Code" ? 0 : 1];
  if (!found) throw new Error(`${name} is not connected`);
  return found;
}

/** Id of a server. */
export async function idOf(gatehouse: Gatehouse, name: string): Promise<string> {
  const found = (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found.config.id;
}

/** Does what its user did. Returns what ends it. */
export async function live(gatehouse: Gatehouse): Promise<() => void> {
  writeSettingsOfOthers(gatehouse);
  await addServers(gatehouse);
  const registry = await startRegistry(gatehouse);
  await giveRules(gatehouse);
  await makeCalls(gatehouse);
  await gatehouse.command("profiles.add", {
    settings: {
      name: "Work",
      servers: [{ server: await idOf(gatehouse, files), tools: { shows: "all" } }],
      otherServers: "hidden",
      deniedTools: "hidden",
      naming: null,
      toolList: "search",
      callsPerMinute: 30,
      folders: [],
    },
  });
  return () => {
    registry.close();
    registry.closeAllConnections();
  };
}

/** Settings of applications that servers are imported from, and that can be connected. */
export function writeSettingsOfOthers({ home }: Gatehouse): void {
  const cursor = {
    mcpServers: {
      tickets: { command: "npx", args: ["-y", "@example/tickets"], env: { TICKETS_TOKEN: "tk-0123456789abcdef" } },
      weather: { url: "https://weather.example.com/mcp", autoApprove: ["forecast"], envFile: ".env" },
      broken: { args: ["nothing to start"] },
    },
  };
  const code = { servers: { search: { type: "stdio", command: "npx", args: ["-y", "@example/search"] } } };
  for (const [file, settings] of [
    [".cursor/mcp.json", cursor],
    [".config/Code/User/mcp.json", code],
    [".claude/settings.json", {}],
  ] as const) {
    const path = join(home, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(settings, null, 2)}\n`);
  }
}

async function addServers(gatehouse: Gatehouse): Promise<void> {
  const folder = documents(gatehouse);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "meeting.md"), notes);
  writeFileSync(join(folder, "budget.csv"), "month,amount\nMay,1200\nJune,1350\n");
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
      mcp_config: { command: "node", args: ["${__dirname}/server/index.mjs", "--level=${user_config.level}"] },
    },
    tools: [{ name: "started_with", description: "Tells." }],
    user_config: {
      level: { type: "number", title: "Level", description: "How loud", default: 3, min: 1, max: 9 },
      token: { type: "string", title: "Token", description: "Yours", sensitive: true, required: true },
    },
  };
  writeFileSync(bundle(gatehouse), zip({ "manifest.json": JSON.stringify(manifest), "server/index.mjs": "" }));

  const program = (command: string, args: string[]) =>
    ({ type: "stdio", command, args, env: {}, cwd: null, streams: "sockets" }) as const;
  const memoryFile = { MEMORY_FILE_PATH: join(gatehouse.folder, "memory.jsonl") };
  const added = [
    [files, "Reads and changes files", program("node", [gatehouse.npmServer("server-filesystem"), folder]), true],
    [
      memory,
      "Remembers people and facts",
      { ...program("node", [gatehouse.npmServer("server-memory")]), env: memoryFile },
      false,
    ],
    [wiki, "Pages of the team", program(gatehouse.program("fixture-server"), ["--lifecycle", "legacy"]), false],
    [broken, null, program("calendar-mcp-server", []), false],
  ] as const;
  for (const [name, description, transport, trustLabels] of added) {
    const look = { description, icon: null, group: null };
    const draft = { name, transport, enabled: true, autostart: true, look } as unknown as ServerDraft;
    const { config } = await gatehouse.command("servers.add", { draft, trustLabels, secrets: [], run: null });
    const state = async () =>
      (await gatehouse.command("servers.list", {})).find((it) => it.config.id === config.id)?.status.state;
    await expect.poll(state).toBe(name === broken ? "failed" : "connected");
  }
  const call = (tool: string, args: object) =>
    gatehouse.command("servers.callTool", {
      server: wiki,
      tool,
      arguments: JSON.stringify(args),
      run: null,
      client: null,
    });
  await call("write_note", { text: "Welcome to the wiki" });
  await call("say", { level: "info", text: "12 pages were indexed" });
  await call("say", { level: "warning", text: "The index is 3 days old" });
}

/** A registry with a few entries. */
async function startRegistry(gatehouse: Gatehouse): Promise<Server> {
  const entry = (name: string, title: string, description: string) => ({
    name: `io.example/${name}`,
    title,
    description,
    version: "1.2.0",
    packages: [
      {
        registryType: "npm",
        identifier: `@example/${name}`,
        version: "1.2.0",
        environmentVariables: [
          { name: "CITY", isRequired: true, description: "Where you are" },
          { name: "API_KEY", isRequired: true, isSecret: true },
        ],
      },
    ],
  });
  const listed = [
    entry("weather", "Weather station", "Says the weather of any place"),
    entry("tickets", "Tickets", "Reads and writes tickets of your team"),
    entry("translate", "Translator", "Translates texts between 40 languages"),
  ].map((server) => ({
    server,
    _meta: { "io.modelcontextprotocol.registry/official": { status: "active", isLatest: true } },
  }));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "", "http://registry").pathname);
    const one = listed.find(({ server: { name } }) => path.startsWith(`/v0.1/servers/${name}/versions`));
    const found =
      path === "/v0.1/servers" ? { servers: listed } : path.endsWith("/versions") ? { servers: [one] } : one;
    response.statusCode = found === undefined ? 404 : 200;
    response.end(JSON.stringify(found ?? {}));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const { auditDays, activityDays, activityCalls } = await gatehouse.command("settings.show", {});
  await gatehouse.command("settings.set", {
    auditDays,
    activityDays,
    activityCalls,
    packages: null,
    clientDocument: null,
    calls: null,
    toolNames: null,
    allowedHosts: null,
    registry: `http://127.0.0.1:${String(port)}`,
  });
  return server;
}

async function giveRules(gatehouse: Gatehouse): Promise<void> {
  const choice = { lifetime: "always", width: "tool", everyClient: true } as const;
  await gatehouse.command("policy.autoApprove", { server: "Time", client: null, to: "all" });
  const reason = "Ask me first";
  const denied = { server: "Notes", tool: "delete_note", client: null };
  await gatehouse.command("policy.deny", { ...denied, choice: { ...choice, conditions: [] }, reason });
  const granted = { server: memory, tool: "read_graph", client: null };
  await gatehouse.command("policy.grant", { ...granted, choice: { ...choice, conditions: [] } });
}

async function makeCalls(gatehouse: Gatehouse): Promise<void> {
  const code = await gatehouse.connect("Claude Code");
  const cursor = await gatehouse.connect("Cursor", "2025-11-25");
  clients.set(gatehouse, [code, cursor]);
  const quarter = { lifetime: "quarter_hour", width: "tool", everyClient: false, conditions: [] } as const;
  await gatehouse.command("policy.grant", {
    server: "Notes",
    tool: "add_note",
    client: "Cursor",
    choice: { ...quarter, conditions: [] },
  });
  const path = join(documents(gatehouse), "meeting.md");
  for (const timezone of ["Europe/Vienna", "Asia/Tokyo", "America/Lima", "Europe/Vienna"])
    await code.call("current_time", { timezone });
  await code.call("list_directory", { path: documents(gatehouse) });
  await code.call("read_text_file", { path });
  await code.call("read_text_file", { path: resolve(documents(gatehouse), "plan.md") });
  await cursor.call("current_time", {});
  await cursor.call("read_graph", {});
  await cursor.call("delete_note", { id: 1 });
  await cursor.call("read_text_file", { path });
}
