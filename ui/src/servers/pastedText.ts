// What a pasted text says about a server: JSON of a client's settings, an address, or a command line.

import { emptyServerForm, type ServerForm, type NameValueLine } from "./serverForm";
import { joinCommand, splitCommand } from "./commandLine";
import { isSecretSetting } from "./secretNames";

/** The fields that a pasted text fills. */
export type RecognisedFields = Pick<
  ServerForm,
  "kind" | "name" | "command" | "cwd" | "url" | "remote" | "lines" | "headersFrom"
>;

/** The first server that was found, the number of further ones, and whether there is more than the fields. */
export type RecognisedPaste = { found: RecognisedFields; others: number; hasMore: boolean };

const nothing: RecognisedFields = {
  kind: "stdio",
  name: "",
  command: "",
  cwd: "",
  url: "",
  remote: "auto",
  lines: [],
  headersFrom: "",
};

/**
 * Whether a text is settings that the form alone can't take over: several servers, members that the form has no field for,
 * references that are resolved when they are imported, or another shape or language.
 */
export function needsChecklist(text: string): boolean {
  const isOtherLanguage = /^\s*\[mcp_servers[.\]]|^\s*mcpServers:\s*$/m.test(text);
  if (isOtherLanguage || isOtherShape(parsed(text.trim()))) return true;
  const recognised = recognise(text);
  return recognised !== null && (recognised.others > 0 || recognised.hasMore);
}

/** Lists of servers, servers of projects, and Codex's settings as JSON. */
function isOtherShape(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isEntry);
  if (!isEntry(value)) return false;
  return Array.isArray(value.mcpServers) || isEntry(value.projects) || isEntry(value.mcp_servers);
}

export function recognise(text: string): RecognisedPaste | null {
  const trimmed = text.trim();
  if (trimmed.startsWith("{") || trimmed.startsWith('"')) return fromJson(trimmed);
  const found = /^(https?|wss?):\/\/\S+$/i.test(trimmed) ? fromAddress("", trimmed, "") : fromCommand(trimmed);
  return found && { found, others: 0, hasMore: false };
}

function fromAddress(name: string, url: string, how: string): RecognisedFields {
  const remote = /^wss?:/i.test(url) ? "ws" : spokenAs(how);
  return { ...nothing, kind: "http", remote, url, name: name === "" ? hostName(url) : name };
}

/** What an entry calls its transport; found out where it says nothing. */
function spokenAs(how: string): "auto" | "http" | "sse" {
  if (/^sse$/i.test(how)) return "sse";
  return /http/i.test(how) ? "http" : "auto";
}

/** A command line; `NAME=value` before the program is its environment, as in a shell. */
function fromCommand(line: string): RecognisedFields | null {
  const words = splitCommand(line.replace(/^\$\s+/, "")) ?? [];
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  if (start < 0) return null;
  const set = words.slice(0, start).map((word): [string, string] => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)];
  });
  const program = words.slice(start);
  return {
    ...nothing,
    command: joinCommand(program),
    name: commandName(program),
    lines: linesOf(Object.fromEntries(set)),
  };
}

type Entry = Record<string, unknown>;
const isEntry = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const addressOf = (entry: Entry) => textOf(entry.url ?? entry.baseUrl ?? entry.serverUrl ?? entry.httpUrl);
const isServer = (entry: Entry) => entry.command !== undefined || addressOf(entry) !== "";

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function fromJson(text: string): RecognisedPaste | null {
  const whole = parsed(text) ?? parsed(`{${text.replace(/,\s*$/, "")}}`);
  if (!isEntry(whole)) return null;
  if (isServer(whole)) return { found: fromEntry("", whole), others: 0, hasMore: hasMoreThanFields(whole) };
  const listed = [whole.mcpServers, whole.servers, whole.context_servers, whole.mcp].find(isEntry) ?? whole;
  const inner = isEntry(listed.servers) && !isServer(listed.servers) ? listed.servers : listed;
  const servers = Object.entries(inner).flatMap(([name, entry]): [string, Entry][] =>
    isEntry(entry) && isServer(entry) ? [[name, entry]] : [],
  );
  const [first] = servers;
  if (!first) return null;
  return { found: fromEntry(...first), others: servers.length - 1, hasMore: hasMoreThanFields(first[1]) };
}

/** The members of an entry that fill fields of the form. */
const members = new Set(
  "name type transport command path args env environment cwd url baseUrl serverUrl httpUrl headers headersFrom headersHelper".split(
    " ",
  ),
);

/** References to inputs, variables and files, as `${input:key}`, `${KEY:-none}` and OpenCode's `{env:KEY}`. */
const reference = /\$\{|\{(env|file):/;

/** Whether an entry says something that no field shows, or that is still to be resolved. */
function hasMoreThanFields(entry: Entry): boolean {
  return Object.keys(entry).some((name) => !members.has(name)) || reference.test(JSON.stringify(entry));
}

function fromEntry(name: string, entry: Entry): RecognisedFields {
  const url = addressOf(entry);
  if (url !== "") {
    const how = textOf(entry.type ?? entry.transport) || (entry.httpUrl === undefined ? "" : "http");
    const found = fromAddress(name, url, how);
    return {
      ...found,
      lines: linesOf(entry.headers),
      headersFrom: programOf(entry.headersFrom ?? entry.headersHelper),
    };
  }
  // Some write the program as an object of its own.
  const own = isEntry(entry.command) ? entry.command : entry;
  const command = own === entry ? entry.command : own.path;
  const words = [command, own.args]
    .flat()
    .map(textOf)
    .filter((word) => word !== "");
  return {
    ...nothing,
    command: joinCommand(words),
    cwd: textOf(entry.cwd),
    name: name === "" ? commandName(words) : name,
    lines: linesOf(own.env ?? own.environment ?? entry.env),
  };
}

/** The command line of a program that an entry names, as a line or in parts. */
function programOf(value: unknown): string {
  if (!isEntry(value)) return textOf(value);
  return joinCommand(
    [value.command, value.args]
      .flat()
      .map(textOf)
      .filter((word) => word !== ""),
  );
}

/** Every value that looks like a secret is offered for the keychain. */
function linesOf(values: unknown): NameValueLine[] {
  if (!isEntry(values)) return [];
  return Object.entries(values).map(([name, value]) => ({
    name,
    value: textOf(value),
    secret: isSecretSetting(name),
    kept: false,
  }));
}

/** JSON, or JSON with comments and commas at ends as editors allow them. */
function parsed(text: string): unknown {
  for (const json of [text, withoutComments(text)]) {
    try {
      return JSON.parse(json) as unknown;
    } catch {
      // The next form of it, or else it is none.
    }
  }
  return null;
}

function withoutComments(text: string): string {
  const bare = text.replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, "$1");
  return bare.replace(/("(?:\\.|[^"\\])*")|,(\s*[}\]])/g, "$1$2");
}

function hostName(address: string): string {
  const host = /^\w+:\/\/(?:[^@/]*@)?([^:/?#]+)/.exec(address)?.[1] ?? "";
  if (/^[\d.]+$/.test(host)) return host;
  return host.split(".").find((part) => !["www", "mcp", "api"].includes(part)) ?? host;
}

/** The word that says most: the package, or else the program. */
function commandName(words: readonly string[]): string {
  const runners = [
    "npx",
    "uvx",
    "bunx",
    "node",
    "python",
    "python3",
    "uv",
    "run",
    "docker",
    "deno",
    "bun",
    "x",
    "dlx",
    "pnpm",
  ];
  const word = words.find((one) => !one.startsWith("-") && !runners.includes(one)) ?? words[0] ?? "";
  const parts = word.replace(/@[\d^~][^/]*$|@latest$/, "").split(/[/\\]/);
  const named =
    parts.at(-1) === "index.js" ? parts.filter((part) => !["index.js", "dist", "build"].includes(part)) : parts;
  return (named.at(-1) ?? word).replace(/^mcp-server-|^server-|-mcp-server$|-mcp$|\.(js|mjs|py|ts|exe)$/g, "");
}

/** Fills the form with the recognised fields; a name typed by the user stays. */
export function fillForm(form: ServerForm, found: RecognisedFields, namedBefore: string): ServerForm {
  const own = form.name !== "" && form.name !== namedBefore;
  const { description, group, autostart, recordBodies } = form;
  const about = { description, group, autostart, recordBodies };
  return { ...emptyServerForm, ...about, ...found, name: own ? form.name : found.name };
}
