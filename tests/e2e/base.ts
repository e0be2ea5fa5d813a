// What every test of the interface starts from: a fresh Gatehouse behind the browser host, the two windows
// as two pages, AI clients of the real SDK.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import AxeBuilder from "@axe-core/playwright";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test as plain, type Page } from "@playwright/test";

import type { Commands } from "../../ui/src/generated/commands.ts";
import type { ServerDraft, Transport } from "../../ui/src/generated/types.ts";
import { render } from "../../ui/src/messages/render.ts";

const root = resolve(import.meta.dirname, "../..");
/** The words of the core's texts in English. */
const templates = JSON.parse(readFileSync(join(root, "locales/en/rules.json"), "utf8")) as Record<string, string>;
/** The folder of the programs of the workspace. */
export const programs =
  process.env["GATEHOUSE_PROGRAMS"] ?? join(process.env["CARGO_TARGET_DIR"] ?? join(root, "target"), "debug");

export type Theme = "light" | "dark";
export type Language = "en" | "zh-CN";
type Answer = { isError?: boolean; content: { type: string; text?: string }[] };

/** An AI client that is connected. */
export type AiClient = {
  /** The names of the tools that it sees. */
  tools: () => Promise<string[]>;
  call: (tool: string, args: Record<string, unknown>, signal?: AbortSignal) => Promise<Answer>;
  close: () => Promise<void>;
};

/** A running Gatehouse and what a test does around its pages. */
export class Gatehouse {
  readonly clients: AiClient[] = [];

  constructor(
    readonly address: string,
    readonly endpoint: string,
    /** A folder for files of the test. */
    readonly folder: string,
  ) {}

  /** The home folder of its user, in which other applications have their settings. */
  get home(): string {
    return join(this.folder, "home");
  }

  /** A program of the workspace. */
  program(name: string): string {
    return join(programs, name);
  }

  /** A server from npm, as Node.js runs it. */
  npmServer(name: string): string {
    return join(root, "tests/js/node_modules/@modelcontextprotocol", name, "dist/index.js");
  }

  /** Runs a command as the main window would. */
  async command<Name extends keyof Commands>(
    name: Name,
    args: Commands[Name]["args"],
  ): Promise<Commands[Name]["reply"]> {
    return (await this.send("command", { name, args })) as Commands[Name]["reply"];
  }

  /** Runs a command on the control socket, as any program of the same user can without the operator key. */
  async commandWithoutKey<Name extends keyof Commands>(name: Name, args: Commands[Name]["args"]): Promise<void> {
    const socket = createConnection(join(this.folder, "data", "control.sock"));
    try {
      const line = await new Promise<string>((yes, no) => {
        socket.once("error", no);
        createInterface({ input: socket }).once("line", yes);
        socket.write(`${JSON.stringify({ id: 1, command: name, args })}\n`);
      });
      const answer = JSON.parse(line) as { problem?: unknown };
      if (answer.problem !== undefined) throw new Error(line);
    } finally {
      socket.destroy();
    }
  }

  /** Lets the oldest pending call run once, as the user would. */
  async allowOnce(): Promise<void> {
    const [pending] = await this.command("approvals.list", { known: [] });
    if (pending?.request.kind !== "call") throw new Error("no call is pending");
    const choice = { lifetime: "once" as const, width: "call" as const, everyClient: false, conditions: [] };
    await this.command("approvals.answer", {
      answers: [{ id: pending.id, hash: pending.request.hash, answer: { answer: "allow", choice } }],
    });
  }

  /** The rules in words. */
  async rules(): Promise<string[]> {
    const { rules } = await this.command("policy.show", {});
    return rules.map(({ sentence }) => render(sentence, { language: "en", templates, time: String }));
  }

  /** Sends a command to the host. */
  async send(command: string, args: unknown): Promise<unknown> {
    const response = await fetch(`${this.address}/host/${command}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(args),
    });
    const reply: unknown = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(reply));
    return reply;
  }

  /** What the pages asked of their windows so far. */
  async noted(): Promise<string[]> {
    return (await (await fetch(`${this.address}/host/noted`)).json()) as string[];
  }

  async look(theme: Theme, language: Language): Promise<void> {
    await this.send("set_preferences", {
      preferences: { theme, language, saidKeepsRunning: true, firstRunDone: true },
    });
  }

  /** Adds a server and waits until it runs. */
  async addServer(name: string, transport: Transport, trustLabels = false): Promise<string> {
    const draft = { name, transport, enabled: true, autostart: true } as ServerDraft;
    const { config } = await this.command("servers.add", { draft, trustLabels, secrets: [], run: null });
    await expect
      .poll(async () => (await this.command("servers.list", {})).find((it) => it.config.id === config.id)?.status.state)
      .toBe("connected");
    return config.id;
  }

  /** Adds the fixture server, which misbehaves on demand. */
  async addFixture(name: string, ...switches: string[]): Promise<string> {
    return this.addServer(name, {
      type: "stdio",
      command: this.program("fixture-server"),
      args: switches,
      env: {},
      cwd: null,
      streams: "sockets",
    });
  }

  /** Adds the filesystem server from npm on a folder of the test. */
  async addFiles(name: string, trustLabels = false): Promise<string> {
    const args = [this.npmServer("server-filesystem"), this.folder];
    return this.addServer(
      name,
      { type: "stdio", command: "node", args, env: {}, cwd: null, streams: "sockets" },
      trustLabels,
    );
  }

  /** Adds a client and connects it. */
  async connect(name: string, revision: "2026-07-28" | "2025-11-25" = "2026-07-28"): Promise<AiClient> {
    const { token } = await this.command("clients.add", { name });
    return this.connectWith(token, revision);
  }

  /** Connects a client that has a token. */
  async connectWith(token: string, revision: "2026-07-28" | "2025-11-25" = "2026-07-28"): Promise<AiClient> {
    const versionNegotiation = { mode: revision === "2026-07-28" ? { pin: revision } : "legacy" } as const;
    const sdk = new Client({ name: "sdk-js", version: "1.0.0" }, { versionNegotiation });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await sdk.connect(new StreamableHTTPClientTransport(new URL(this.endpoint), { requestInit }));
    const client: AiClient = {
      tools: async () => (await sdk.listTools()).tools.map(({ name }) => name),
      call: async (name, args, signal) =>
        (await sdk.callTool({ name, arguments: args }, { timeout: 60_000, ...(signal ? { signal } : {}) })) as Answer,
      close: () => sdk.close(),
    };
    this.clients.push(client);
    return client;
  }
}

/** Variables by which somebody may have moved settings of applications; empty ones do not count. */
const moved = Object.fromEntries(
  [
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "CONTINUE_GLOBAL_DIR",
    "CLINE_DIR",
    "CLINE_DATA_DIR",
    "CLINE_MCP_SETTINGS_PATH",
    "VSCODE_PORTABLE",
  ].map((name) => [name, ""]),
);

/** The running browser host, which ends with its standard input. */
export class BrowserHost {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #said = "";

  constructor(folder: string) {
    const pages = join(root, "ui/dist-browser");
    const home = join(folder, "home");
    mkdirSync(home, { recursive: true });
    this.#child = spawn(join(programs, "browser-host"), ["--data-dir", join(folder, "data"), "--pages", pages], {
      // Gatehouse asks the login shell for its PATH; somebody's own start-up files are not what is tested.
      // Neither are their settings of other applications, nor their keychain.
      env: {
        ...process.env,
        ...moved,
        SHELL: "/bin/sh",
        HOME: home,
        DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent",
      },
    });
    this.#child.stderr?.on("data", (part) => (this.#said += String(part)));
    this.#ended = new Promise((done) => {
      this.#child.once("exit", done);
      this.#child.once("error", (error) => {
        this.#said += String(error);
        done(null);
      });
    });
  }

  /** Where it serves, from its one line; without a gateway while a vault is locked. */
  async ready(): Promise<{ address: string; endpoint: string | null }> {
    const { stdout } = this.#child;
    if (!stdout) throw new Error("no standard output");
    const line = new Promise<string>((yes) => createInterface({ input: stdout }).once("line", yes));
    const first = await Promise.race([line, this.#ended]);
    if (typeof first !== "string") throw new Error(`the browser host ended with ${String(first)}: ${this.#said}`);
    return JSON.parse(first) as { address: string; endpoint: string | null };
  }

  /** Ends it, if it still runs, and tells with what it ended. */
  async end(): Promise<number | null> {
    this.#child.stdin?.end();
    return this.#ended;
  }
}

export type Fixtures = {
  /** Calls that are stored before Gatehouse starts. */
  storedCalls: number;
  gatehouse: Gatehouse;
  main: Page;
  prompt: Page;
};

export const test = plain.extend<Fixtures>({
  storedCalls: [0, { option: true }],
  gatehouse: async ({ storedCalls }, use) => {
    const folder = mkdtempSync(join(tmpdir(), "gatehouse-e2e-"));
    if (storedCalls > 0) {
      const args = [join(folder, "data"), String(storedCalls)];
      execFileSync(join(programs, "fill-calls"), args, { timeout: 240_000 });
    }
    const host = new BrowserHost(folder);
    try {
      const { address, endpoint } = await host.ready();
      const gatehouse = new Gatehouse(address, endpoint ?? "", folder);
      const states = async () => (await gatehouse.command("servers.list", {})).map((it) => it.status.state);
      await expect.poll(states).toEqual(["connected", "connected"]);
      await use(gatehouse);
      await Promise.allSettled(gatehouse.clients.map((client) => client.close()));
      expect(await host.end(), "the browser host ends well").toBe(0);
    } finally {
      await host.end();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  main: async ({ gatehouse, page }, use) => {
    const broken = watch(page);
    await page.goto(gatehouse.address);
    await use(page);
    expect(broken).toEqual([]);
  },
  prompt: async ({ gatehouse, context }, use) => {
    const page = await context.newPage();
    const broken = watch(page);
    await page.setViewportSize({ width: 440, height: 640 });
    await page.goto(`${gatehouse.address}/prompt.html`);
    await use(page);
    expect(broken).toEqual([]);
    await page.close();
  },
});

/** Gathers what a page complains about: errors of its scripts, and what the policy refused. */
export function watch(page: Page): string[] {
  const broken: string[] = [];
  page.on("pageerror", (error) => broken.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("400 (Bad Request)")) broken.push(message.text());
  });
  return broken;
}

/** How long frames take while something is done, told and not checked. */
export async function frames(page: Page, what: string, work: () => Promise<void>): Promise<void> {
  // A page behind another one has hardly any frames.
  await page.bringToFront();
  await page.evaluate(() => {
    const all: number[] = [];
    Object.assign(window, { frames: all });
    let before = performance.now();
    const next = (now: number) => {
      all.push(now - before);
      before = now;
      if ("frames" in window) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await work();
  const all = await page.evaluate(() => {
    const found = (window as unknown as { frames: number[] }).frames;
    Reflect.deleteProperty(window, "frames");
    return found.toSorted((one, other) => other - one);
  });
  const late = all.filter((one) => one > 50).length;
  console.log(
    `${what}: ${String(all.length)} frames, longest ${all.slice(0, 3).map(Math.round).join(", ")} ms, ${String(late)} over 50 ms`,
  );
}

/** Nothing that keeps people out (WCAG 2.2, A and AA). */
export async function noViolations(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]).analyze();
  const told = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
  expect(told).toEqual([]);
}

const sizesOfMain = [
  { width: 1120, height: 720 },
  { width: 760, height: 520 },
];

/**
 * Takes pictures in both themes and languages at each size, where `GATEHOUSE_SHOTS` names a folder. The
 * page goes on as it was, so that a test is the same with pictures and without.
 */
export async function pictures(gatehouse: Gatehouse, page: Page, name: string, sizes = sizesOfMain): Promise<void> {
  const folder = process.env["GATEHOUSE_SHOTS"];
  if (!folder) return;
  const before = page.viewportSize();
  // The prompt hears of a new look; the main window's own page is where it is changed, so another one
  // of the same address is pictured.
  const hears = new URL(page.url()).pathname === "/prompt.html";
  const pictured = hears ? page : await page.context().newPage();
  for (const theme of ["light", "dark"] as const) {
    for (const language of ["en", "zh-CN"] as const) {
      await gatehouse.look(theme, language);
      if (!hears) {
        await pictured.goto("about:blank");
        await pictured.goto(page.url());
      }
      await expect(pictured.locator(`html[lang="${language}"][data-mantine-color-scheme="${theme}"]`)).toBeAttached();
      for (const size of sizes) {
        await pictured.setViewportSize(size);
        // A picture, not a check: readings and transitions have come to rest after this.
        await pictured.waitForTimeout(500);
        await pictured.screenshot({ path: join(folder, `${name}-${theme}-${language}-${String(size.width)}.png`) });
      }
    }
  }
  await gatehouse.look("light", "en");
  if (!hears) await pictured.close();
  else await expect(page.locator('html[lang="en"][data-mantine-color-scheme="light"]')).toBeAttached();
  if (before) await page.setViewportSize(before);
}

export { expect };
