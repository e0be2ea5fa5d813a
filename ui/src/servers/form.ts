// What the form of a server holds, and what it makes of that.

import type { FieldSecret, ServerConfig, ServerDraft, Transport } from "../gen/types";
import type { MessageKey } from "../messages";
import { joinCommand, splitCommand } from "./words";

export type Kind = "stdio" | "http" | "builtin";

/** One line of the environment or of the headers. */
export type Line = {
  name: string;
  value: string;
  secret: boolean;
  /** A secret that is kept already; an empty value leaves it. */
  kept: boolean;
};

export type Form = {
  kind: Kind;
  name: string;
  command: string;
  cwd: string;
  url: string;
  lines: Line[];
  builtin: "files" | "time" | "notes";
  folder: string;
  description: string;
  group: string;
  autostart: boolean;
};

export const emptyForm: Form = {
  kind: "stdio",
  name: "",
  command: "",
  cwd: "",
  url: "",
  lines: [],
  builtin: "files",
  folder: "",
  description: "",
  group: "",
  autostart: true,
};

export const emptyLine: Line = { name: "", value: "", secret: false, kept: false };

/** What is wrong with a field. */
export type Faults = Partial<Record<"name" | "command" | "url" | "folder" | "lines", MessageKey>>;

export function faults(form: Form, taken: readonly string[]): Faults {
  const found: Faults = {};
  if (form.name.trim() === "") found.name = "servers.form.needName";
  else if (taken.includes(form.name.trim())) found.name = "servers.form.nameTaken";
  if (form.kind === "stdio") {
    const words = splitCommand(form.command);
    if (words === null) found.command = "servers.form.openQuote";
    else if (words.length === 0) found.command = "servers.form.needCommand";
  }
  if (form.kind === "http" && !/^https?:\/\/[^\s/]+/i.test(form.url.trim())) found.url = "servers.form.badUrl";
  if (form.kind === "builtin" && form.builtin === "files" && form.folder.trim() === "") found.folder = "servers.form.needFolder";
  const names = used(form.lines).map(({ name }) => name.trim());
  if (names.includes("")) found.lines = "servers.form.needVarName";
  else if (new Set(names).size < names.length) found.lines = "servers.form.twice";
  return found;
}

const used = (lines: readonly Line[]) => lines.filter(({ name, value, kept }) => name.trim() !== "" || value !== "" || kept);

/** The draft and the secrets that go with it. */
export function toDraft(form: Form, before?: ServerConfig): { draft: ServerDraft; secrets: FieldSecret[] } {
  const field = form.kind === "stdio" ? "env" : "headers";
  const lines = form.kind === "builtin" ? [] : used(form.lines);
  const values = Object.fromEntries(
    lines.map(({ name, value, secret }) => [name.trim(), secret ? `\${secret:${name.trim()}}` : value]),
  );
  const secrets = lines
    .filter(({ secret, kept, value }) => secret && !(kept && value === ""))
    .map(({ name, value }) => ({ field: `${field}/${name.trim()}`, value }));
  const optional = (text: string) => (text.trim() === "" ? null : text.trim());
  const draft: ServerDraft = {
    name: form.name.trim(),
    transport: transport(form, values),
    enabled: before?.enabled ?? true,
    autostart: form.autostart,
    look: { icon: before?.look.icon ?? null, description: optional(form.description), group: optional(form.group) },
    limits: before?.limits ?? {
      connectSecs: 30,
      callSecs: 300,
      callCapSecs: 3600,
      healthEverySecs: 30,
      healthTimeoutSecs: 5,
      healthFailures: 3,
    },
  };
  return { draft, secrets };
}

function transport(form: Form, values: Record<string, string>): Transport {
  switch (form.kind) {
    case "stdio": {
      const [command = "", ...args] = splitCommand(form.command) ?? [];
      return { type: "stdio", command, args, env: values, cwd: form.cwd.trim() === "" ? null : form.cwd.trim() };
    }
    case "http":
      return { type: "http", url: form.url.trim(), headers: values };
    case "builtin":
      return {
        type: "builtin",
        builtin: form.builtin === "files" ? { kind: "files", folder: form.folder.trim() } : { kind: form.builtin },
      };
  }
}

/** The form of a server that is there. Transports without a form of their own are not edited here. */
export function fromConfig({ name, transport: how, look, autostart }: ServerConfig): Form | null {
  const common = { ...emptyForm, name, autostart, description: look.description ?? "", group: look.group ?? "" };
  switch (how.type) {
    case "stdio":
      return { ...common, kind: "stdio", command: joinCommand([how.command, ...how.args]), cwd: how.cwd ?? "", lines: lines(how.env) };
    case "http":
      return { ...common, kind: "http", url: how.url, lines: lines(how.headers) };
    case "builtin":
      return {
        ...common,
        kind: "builtin",
        builtin: how.builtin.kind,
        folder: how.builtin.kind === "files" ? how.builtin.folder : "",
      };
    case "sse":
    case "ws":
      return null;
  }
}

function lines(values: Readonly<Record<string, string | undefined>>): Line[] {
  return Object.entries(values).map(([name, value = ""]) => {
    const secret = value === `\${secret:${name}}`;
    return { name, value: secret ? "" : value, secret, kept: secret };
  });
}

/** What a pasted text says about a server: JSON of a client's settings, an address, or a command line. */
export function recognise(text: string): Partial<Form> | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (trimmed.startsWith("{") || trimmed.startsWith('"')) return fromJson(trimmed);
  if (/^https?:\/\/\S+$/i.test(trimmed)) return { kind: "http", url: trimmed, name: hostName(trimmed) };
  const words = splitCommand(trimmed.replace(/^\$\s+/, ""));
  if (!words?.length) return null;
  return { kind: "stdio", command: joinCommand(words), name: commandName(words) };
}

type Found = Record<string, unknown>;
const isObject = (value: unknown): value is Found => typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown) => (typeof value === "string" ? value : "");

function fromJson(text: string): Partial<Form> | null {
  const whole = parsed(text) ?? parsed(`{${text.replace(/,\s*$/, "")}}`);
  if (!isObject(whole)) return null;
  const listed = [whole.mcpServers, whole.servers, whole.context_servers, whole.mcp].find(isObject) ?? whole;
  const inner = isObject(listed.servers) ? listed.servers : listed;
  if (isServer(inner)) return fromEntry("", inner);
  const [name, entry] = Object.entries(inner)[0] ?? [];
  return name !== undefined && isObject(entry) && isServer(entry) ? fromEntry(name, entry) : null;
}

const addressOf = (entry: Found) => textOf(entry.url ?? entry.baseUrl ?? entry.serverUrl ?? entry.httpUrl);
const isServer = (entry: Found) => entry.command !== undefined || addressOf(entry) !== "";

function fromEntry(name: string, entry: Found): Partial<Form> {
  const url = addressOf(entry);
  if (url !== "") return { kind: "http", url, name: name === "" ? hostName(url) : name, lines: pastedLines(entry.headers) };
  const command = entry.command;
  const words = Array.isArray(command) ? command.map(textOf) : [textOf(command)];
  const args = Array.isArray(entry.args) ? entry.args.map(textOf) : [];
  const all = [...words, ...args].filter((word) => word !== "");
  return {
    kind: "stdio",
    command: joinCommand(all),
    cwd: textOf(entry.cwd),
    name: name === "" ? commandName(all) : name,
    lines: pastedLines(entry.env ?? entry.environment),
  };
}

/** Every value that looks like a secret is offered for the keychain. */
function pastedLines(values: unknown): Line[] {
  if (!isObject(values)) return [];
  return Object.entries(values).map(([name, value]) => ({
    name,
    value: textOf(value),
    secret: /key|token|secret|password|passwd|authorization|credential/i.test(name),
    kept: false,
  }));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function hostName(address: string): string {
  const host = /^https?:\/\/(?:[^@/]*@)?([^:/?#]+)/i.exec(address)?.[1] ?? "";
  const parts = host.split(".").filter((part) => !["www", "mcp", "api"].includes(part));
  return parts[0] ?? host;
}

/** The word that says most: the package, or else the program. */
function commandName(words: readonly string[]): string {
  const runners = ["npx", "uvx", "bunx", "node", "python", "python3", "uv", "run", "docker", "deno", "bun", "-m", "dlx", "pnpm"];
  const word = words.find((one) => !one.startsWith("-") && !runners.includes(one)) ?? words[0] ?? "";
  const last = word.replace(/@[\d^~][^/]*$/, "").split(/[/\\]/).at(-1) ?? word;
  return last.replace(/^mcp-server-|^server-|-mcp-server$|-mcp$|\.(js|mjs|py|ts)$/g, "");
}
