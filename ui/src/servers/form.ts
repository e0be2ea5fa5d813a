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
  /** What is spoken at a remote address. */
  remote: "http" | "sse" | "ws";
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
  remote: "http",
  lines: [],
  builtin: "files",
  folder: "",
  description: "",
  group: "",
  autostart: true,
};

export const emptyLine: Line = { name: "", value: "", secret: false, kept: false };

/** What does not touch the connection, so that a test of it still holds. */
export const looks: readonly (keyof Form)[] = ["name", "description", "group", "autostart"];

/** What is wrong with a field. */
export type Faults = Partial<Record<"name" | "command" | "url" | "folder" | "lines", MessageKey>>;

/** `before` is the server that is edited. */
export function faults(form: Form, taken: readonly string[], before?: ServerConfig): Faults {
  const found: Faults = {};
  const name = form.name.trim();
  if (name === "") found.name = "servers.form.needName";
  else if (/[/\\]/.test(name)) found.name = "servers.form.slash";
  else if (taken.some((other) => other.toLowerCase() === name.toLowerCase())) found.name = "servers.form.nameTaken";
  if (form.kind === "stdio") {
    const words = splitCommand(form.command);
    if (words === null) found.command = "servers.form.openQuote";
    else if (words.length === 0) found.command = "servers.form.needCommand";
  }
  const address = form.remote === "ws" ? /^wss?:\/\/[^\s/]\S*$/i : /^https?:\/\/[^\s/]\S*$/i;
  if (form.kind === "http" && !address.test(form.url.trim())) found.url = "servers.form.badUrl";
  if (form.kind === "builtin" && form.builtin === "files" && form.folder.trim() === "") found.folder = "servers.form.needFolder";
  const fault = form.kind === "builtin" ? null : faultOfLines(form, before);
  if (fault !== null) found.lines = fault;
  return found;
}

function faultOfLines(form: Form, before: ServerConfig | undefined): MessageKey | null {
  const lines = used(form.lines);
  const names = lines.map(({ name }) => name.trim());
  if (names.includes("")) return "servers.form.needVarName";
  if (new Set(names).size < names.length) return "servers.form.twice";
  if (lines.some(({ secret, kept, value }) => secret && !kept && value === "")) return "servers.form.needSecret";
  const left = lines.some(({ secret, kept, value }) => secret && kept && value === "");
  const moved = before !== undefined && place(transport(form, {})) !== place(before.transport);
  return left && moved ? "servers.form.secretMoved" : null;
}

/** Where secrets would be sent; they do not follow to another place. */
function place(to: Transport): string {
  if (to.type === "stdio") return JSON.stringify([to.command, to.args, to.cwd]);
  return to.type === "builtin" ? "" : JSON.stringify([to.type, to.url]);
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

const optional = (text: string) => (text.trim() === "" ? null : text.trim());

function transport(form: Form, values: Record<string, string>): Transport {
  switch (form.kind) {
    case "stdio": {
      const [command = "", ...args] = splitCommand(form.command) ?? [];
      return { type: "stdio", command, args, env: values, cwd: optional(form.cwd) };
    }
    case "http":
      return { type: form.remote, url: form.url.trim(), headers: values };
    case "builtin":
      return {
        type: "builtin",
        builtin: form.builtin === "files" ? { kind: "files", folder: form.folder.trim() } : { kind: form.builtin },
      };
  }
}

/** The form of a server that is there. */
export function fromConfig({ name, transport: how, look, autostart }: ServerConfig): Form {
  const common = { ...emptyForm, name, autostart, description: look.description ?? "", group: look.group ?? "" };
  switch (how.type) {
    case "stdio":
      return { ...common, kind: "stdio", command: joinCommand([how.command, ...how.args]), cwd: how.cwd ?? "", lines: lines(how.env) };
    case "http":
    case "sse":
    case "ws":
      return { ...common, kind: "http", remote: how.type, url: how.url, lines: lines(how.headers) };
    case "builtin":
      return {
        ...common,
        kind: "builtin",
        builtin: how.builtin.kind,
        folder: how.builtin.kind === "files" ? how.builtin.folder : "",
      };
  }
}

function lines(values: Readonly<Record<string, string | undefined>>): Line[] {
  return Object.entries(values).map(([name, value = ""]) => {
    const secret = value === `\${secret:${name}}`;
    return { name, value: secret ? "" : value, secret, kept: secret };
  });
}
