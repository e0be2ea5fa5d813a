// What the form of a server holds, and what it makes of that.

import type {
  Builtin,
  FieldSecret,
  HeaderProgram,
  ServerLimits,
  Message,
  ProtocolVersionSetting,
  RegistrySource,
  ServerConfig,
  ServerDraft,
  ServerProblem,
  ServersValidate,
  Transport,
  UserError,
} from "../generated/types";
import type { MessageKey } from "../messages";
import {
  emptySignIn,
  signInForm,
  signInSecrets,
  signInSettings,
  withoutSignInSecrets,
  type SignInField,
  type SignInForm,
} from "./signInForm";
import type { FilledSettings } from "../forms/composedSecrets";
import { joinCommand, splitCommand } from "./commandLine";

type ServerKind = "stdio" | "http" | "builtin";

/** Settings of a new server that were made elsewhere than in the form. */
export type FilledServer = FilledSettings & {
  /** The link that they came from. */
  link?: { hadSecrets: boolean };
};

/** One line of the environment or of the headers. */
export type NameValueLine = {
  name: string;
  value: string;
  secret: boolean;
  /** A secret that is kept already; an empty value leaves it. */
  kept: boolean;
};

/** A field for a number; a text while there is none. */
type Amount = number | string;

export type AmountName =
  "connectSecs" | "callSecs" | "callCapSecs" | "healthEverySecs" | "healthTimeoutSecs" | "healthFailures";

/** The limits that a server may leave to what is set for all: `default`, or have none of: `none`. */
export const callAmounts = ["callSecs", "callCapSecs"] as const;

export type CallAmountName = (typeof callAmounts)[number];

export const isCallAmount = (name: AmountName): name is CallAmountName => callAmounts.some((one) => one === name);

/** What a server is held to. */
export type LimitsForm = Record<AmountName, Amount> & {
  strict: boolean;
  /** One absolute folder a line. */
  roots: string;
};

/** The least that each may be. */
export const minimumAmounts: Record<AmountName, number> = {
  connectSecs: 1,
  callSecs: 1,
  callCapSecs: 1,
  healthEverySecs: 0,
  healthTimeoutSecs: 1,
  healthFailures: 1,
};

/** The choices of the revision. */
export const protocolVersions = ["auto", "2026-07-28", "2025-11-25"] as const satisfies ProtocolVersionSetting[];

/** The default limits. */
export const defaultLimits: ServerLimits = {
  connectSecs: 30,
  callSecs: "default",
  callCapSecs: "default",
  healthEverySecs: 30,
  healthTimeoutSecs: 5,
  healthFailures: 3,
  strict: false,
  roots: [],
};

export type ServerForm = {
  kind: ServerKind;
  name: string;
  command: string;
  cwd: string;
  /** Whether the standard streams are pipes, which other programs of the user can open. */
  pipes: boolean;
  url: string;
  /** What is spoken at a remote address; `auto` finds out. */
  remote: "auto" | "http" | "sse" | "ws";
  lines: NameValueLine[];
  /** The command line of a program that prints headers. */
  headersFrom: string;
  signIn: SignInForm;
  builtin: Builtin["kind"];
  folder: string;
  /** Whether Fetch may go to addresses of private networks. */
  allowPrivate: boolean;
  /** The revision that is spoken with a server that is not built in. */
  protocolVersion: ProtocolVersionSetting;
  limits: LimitsForm;
  description: string;
  /** Name of an icon; empty for the usual one. */
  icon: string;
  group: string;
  autostart: boolean;
  /** Whether arguments and results of calls are stored. */
  recordBodies: boolean;
  /** The entry of the MCP registry that the form was filled from. */
  registry: RegistrySource | null;
};

export const emptyServerForm: ServerForm = {
  kind: "stdio",
  name: "",
  command: "",
  cwd: "",
  pipes: false,
  url: "",
  remote: "auto",
  lines: [],
  headersFrom: "",
  signIn: emptySignIn,
  builtin: "files",
  folder: "",
  allowPrivate: false,
  protocolVersion: "auto",
  limits: limitsForm(defaultLimits),
  description: "",
  icon: "",
  group: "",
  autostart: true,
  recordBodies: true,
  registry: null,
};

export const emptyLine: NameValueLine = { name: "", value: "", secret: false, kept: false };

/** Fields that don't affect the connection, so a test result stays valid. */
export const appearanceFields: readonly (keyof ServerForm)[] = [
  "name",
  "description",
  "icon",
  "group",
  "autostart",
  "recordBodies",
  "limits",
  "registry",
];

/** A field that something can be wrong with. */
type FormField =
  | "name"
  | "command"
  | "url"
  | "headersFrom"
  | "folder"
  | "lines"
  | "protocolVersion"
  | "roots"
  | AmountName
  | SignInField;

/** What is wrong with each field, in the words of the core. */
export type FormFaults = Partial<Record<FormField, Message>>;

/**
 * What cannot be made into settings at all, so that the core cannot judge it: an open quote, one name for
 * two values, a new secret without a value, no number where one belongs. Every other rule is the core's.
 */
export function formSyntax(form: ServerForm): FormFaults {
  const found: FormFaults = {};
  const say = (key: MessageKey): Message => ({ key, params: {} });
  if (form.kind === "stdio" && splitCommand(form.command) === null) found.command = say("servers.form.openQuote");
  if (form.kind === "http" && splitCommand(form.headersFrom) === null)
    found.headersFrom = say("servers.form.openQuote");
  const lines = usedLines(form);
  const names = lines.map(({ name }) => name.trim());
  // A line without a name is the core's to refuse.
  if (!names.includes("")) {
    if (new Set(names).size < names.length) found.lines = say("servers.form.twice");
    // To the core it would be a reference to the secret that is stored under this name.
    else if (lines.some(({ secret, kept, value }) => secret && !kept && value === ""))
      found.lines = say("problem.secret");
  }
  for (const name of amounts) {
    if (!isAmount(name, form.limits[name]))
      found[name] = say(name === "healthEverySecs" ? "problem.amount" : "problem.amount1");
  }
  return found;
}

/** The fields of the form by the pointers that the core names them by. */
const fieldsByPointer: Readonly<Record<string, FormField>> = {
  "/name": "name",
  "/command": "command",
  "/url": "url",
  "/headersFrom/command": "headersFrom",
  "/builtin/folder": "folder",
  "/protocolVersion": "protocolVersion",
  "/signIn/client/id": "clientId",
  "/signIn/client/secret": "clientSecret",
  "/signIn/redirect": "redirect",
  "/signIn/endpoints/authorize": "authorize",
  "/signIn/endpoints/token": "token",
  "/signIn/endpoints/revoke": "revoke",
  "/signIn/with/issuer": "issuer",
  "/signIn/with/client": "company",
  "/signIn/with/secret": "companySecret",
  "/signIn/with/key": "key",
};

function fieldOf(pointer: string): FormField | null {
  if (/^\/(env|headers)\//.test(pointer)) return "lines";
  if (pointer.startsWith("/limits/roots/")) return "roots";
  return fieldsByPointer[pointer] ?? amounts.find((name) => pointer === `/limits/${name}`) ?? null;
}

/** What the core says of a draft, at the fields of the form; the first of each field. */
export function faultsOf(problems: readonly ServerProblem[]): FormFaults {
  const found: FormFaults = {};
  for (const { pointer, message } of problems) {
    const field = fieldOf(pointer);
    if (field !== null) found[field] ??= message;
  }
  return found;
}

/**
 * What the core says of a draft at a place that no field of the form is for; the first of it. The place is named as in
 * the core's errors.
 */
export function formErrorOf(problems: readonly ServerProblem[]): UserError | null {
  const problem = problems.find(({ pointer }) => fieldOf(pointer) === null);
  if (problem === undefined) return null;
  const field = problem.pointer.split("/").slice(1).join(".");
  const inField = (): Message => ({
    key: "problem.inField" satisfies MessageKey,
    params: { field: { text: field }, problem: { message: problem.message } },
  });
  return { code: "bad_request", message: field === "" ? problem.message : inField(), cause: null, hint: null };
}

/** What the core is asked about a form. Secrets themselves stay here. */
export function toValidation(form: ServerForm, before?: ServerConfig): ServersValidate {
  const { draft, secrets } = toDraft(form, before);
  return { server: before?.id ?? null, settings: { draft }, secrets: secrets.map(({ field }) => field) };
}

export const amounts: readonly AmountName[] = [
  "connectSecs",
  "callSecs",
  "callCapSecs",
  "healthEverySecs",
  "healthTimeoutSecs",
  "healthFailures",
];

function isAmount(name: AmountName, value: Amount): boolean {
  return (isCallAmount(name) && (value === "default" || value === "none")) || isWhole(value);
}

/** Whether the core can hold it. */
const isWhole = (value: Amount): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;

/** The number; 0 in the place of what is none. */
const whole = (value: Amount) => (isWhole(value) ? value : 0);

const rootsOf = ({ roots }: LimitsForm) =>
  roots
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** The lines that say something; a built-in server has none. */
const usedLines = ({ kind, lines }: ServerForm) =>
  kind === "builtin" ? [] : lines.filter(({ name, value, kept }) => name.trim() !== "" || value !== "" || kept);

/** The secrets that are entered in the form. An empty field gives none: it keeps the stored one or is refused. */
function givenSecrets(form: ServerForm): FieldSecret[] {
  const place = form.kind === "stdio" ? "env" : "headers";
  const ofLines = usedLines(form)
    .filter(({ secret, value }) => secret && value !== "")
    .map(({ name, value }) => ({ field: `${place}/${name.trim()}`, value }));
  return form.kind === "http" ? [...ofLines, ...signInSecrets(form.signIn)] : ofLines;
}

/** The form without the secrets that were typed into it, which must be typed again. */
export function withoutSecrets(form: ServerForm): ServerForm {
  const lines = form.lines.map((line) => (line.secret ? { ...line, value: "" } : line));
  return { ...form, lines, signIn: withoutSignInSecrets(form.signIn) };
}

/** The draft and the secrets that go with it. */
export function toDraft(form: ServerForm, before?: ServerConfig): { draft: ServerDraft; secrets: FieldSecret[] } {
  const values = Object.fromEntries(
    usedLines(form).map(({ name, value, secret }) => [name.trim(), secret ? `\${secret:${name.trim()}}` : value]),
  );
  const draft: ServerDraft = {
    name: form.name.trim(),
    transport: transport(form, values),
    protocolVersion: form.kind === "builtin" ? "auto" : form.protocolVersion,
    enabled: before?.enabled ?? true,
    autostart: form.autostart,
    recordBodies: form.recordBodies,
    look: { icon: optional(form.icon), description: optional(form.description), group: optional(form.group) },
    limits: limits(form.limits),
    registry: form.registry,
  };
  return { draft, secrets: givenSecrets(form) };
}

function limits(form: LimitsForm): ServerLimits {
  return {
    connectSecs: whole(form.connectSecs),
    callSecs: callLimit(form.callSecs),
    callCapSecs: callLimit(form.callCapSecs),
    healthEverySecs: whole(form.healthEverySecs),
    healthTimeoutSecs: whole(form.healthTimeoutSecs),
    healthFailures: whole(form.healthFailures),
    strict: form.strict,
    roots: rootsOf(form),
  };
}

function limitsForm(limits: ServerLimits): LimitsForm {
  return {
    ...limits,
    callSecs: limits.callSecs ?? "none",
    callCapSecs: limits.callCapSecs ?? "none",
    roots: limits.roots.join("\n"),
  };
}

function callLimit(value: Amount): ServerLimits["callSecs"] {
  if (value === "default") return "default";
  return value === "none" ? null : whole(value);
}

const optional = (text: string) => (text.trim() === "" ? null : text.trim());

function transport(form: ServerForm, values: Record<string, string>): Transport {
  switch (form.kind) {
    case "stdio": {
      const [command = "", ...args] = splitCommand(form.command) ?? [];
      return {
        type: "stdio",
        command,
        args,
        env: values,
        cwd: optional(form.cwd),
        streams: form.pipes ? "pipes" : "sockets",
      };
    }
    case "http":
      return {
        type: form.remote,
        url: form.url.trim(),
        headers: values,
        headersFrom: headerProgram(form.headersFrom),
        signIn: signInSettings(form.signIn),
      };
    case "builtin":
      return { type: "builtin", builtin: builtin(form) };
  }
}

function headerProgram(line: string): HeaderProgram | null {
  const [command, ...args] = splitCommand(line) ?? [];
  return command === undefined ? null : { command, args };
}

function builtin(form: ServerForm): Builtin {
  switch (form.builtin) {
    case "files":
      return { kind: "files", folder: form.folder.trim() };
    case "fetch":
      return { kind: "fetch", allowPrivate: form.allowPrivate };
    case "time":
    case "notes":
      return { kind: form.builtin };
  }
}

/** The form of a server that is there. */
export function fromConfig({
  name,
  transport: how,
  protocolVersion,
  look,
  autostart,
  recordBodies,
  limits: held,
  registry,
}: Omit<ServerDraft, "enabled">): ServerForm {
  const about = { description: look.description ?? "", icon: look.icon ?? "", group: look.group ?? "" };
  const common: ServerForm = {
    ...emptyServerForm,
    ...about,
    name,
    autostart,
    recordBodies,
    protocolVersion,
    limits: limitsForm(held),
    registry,
  };
  switch (how.type) {
    case "stdio":
      return {
        ...common,
        kind: "stdio",
        command: joinCommand([how.command, ...how.args]),
        cwd: how.cwd ?? "",
        pipes: how.streams === "pipes",
        lines: lines(how.env),
      };
    case "auto":
    case "http":
    case "sse":
    case "ws":
      return {
        ...common,
        kind: "http",
        remote: how.type,
        url: how.url,
        lines: lines(how.headers),
        headersFrom: how.headersFrom === null ? "" : joinCommand([how.headersFrom.command, ...how.headersFrom.args]),
        signIn: signInForm(how.signIn),
      };
    case "builtin":
      return {
        ...common,
        kind: "builtin",
        builtin: how.builtin.kind,
        folder: how.builtin.kind === "files" ? how.builtin.folder : "",
        allowPrivate: how.builtin.kind === "fetch" && how.builtin.allowPrivate,
      };
  }
}

/** The form of a server with other settings that were made elsewhere. Of its secrets only those that it has are kept. */
export function updatedForm(draft: ServerDraft, config: ServerConfig): ServerForm {
  const kept = fromConfig(config).lines.filter((line) => line.kept);
  const form = fromConfig(draft);
  const lines = form.lines.map((line) => ({ ...line, kept: line.kept && kept.some(({ name }) => name === line.name) }));
  return { ...form, lines };
}

/** The form of a server that is not there yet, with the secrets that its settings refer to. */
export function filledForm({ draft, secrets }: FilledServer): ServerForm {
  const form = fromConfig(draft);
  const place = form.kind === "stdio" ? "env" : "headers";
  const lines = form.lines.map((line) => {
    if (!line.secret) return line;
    const given = secrets.find(({ field }) => field === `${place}/${line.name}`);
    return { ...line, kept: false, value: given?.value ?? "" };
  });
  return { ...form, lines };
}

function lines(values: Readonly<Record<string, string | undefined>>): NameValueLine[] {
  return Object.entries(values).map(([name, value = ""]) => {
    const secret = value === `\${secret:${name}}`;
    return { name, value: secret ? "" : value, secret, kept: secret };
  });
}
