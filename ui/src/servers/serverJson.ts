// A server as its entry in servers.json: written as text, and read back with what is wrong and where. The
// same rules as in the form: secrets stay references, and a new one is entered in the form alone. Pure,
// but it brings a parser: only what loads the editor may import this.

import type {
  Builtin,
  HeaderProgram,
  ServerLimits,
  RegisteredClient,
  ServerConfig,
  ServerDraft,
  SignInEndpoints,
  SignInSettings,
  SignInMethod,
  StdioStreams,
  Transport,
} from "../generated/types";
import type { MessageKey } from "../messages";
import { syntaxErrorSpan, escapePointerToken } from "../components/jsonSpans";
import {
  amounts,
  validateForm,
  fromConfig,
  isCallAmount,
  secretDestination,
  defaultLimits,
  type AmountName,
  type FormFaults,
} from "./serverForm";
import { isObject, Reader, type Json, type JsonFault } from "./jsonReader";
import { signInMethods, tokenMethods, defaultSignIn, type SignInField } from "./signInForm";

export type ReadEntry = { draft: ServerDraft } | { faults: JsonFault[] };

/** What differs from the usual, as in the file; Gatehouse's own mark is left out, since nobody edits it. */
export function entryText({ name, transport, enabled, autostart, look, limits }: ServerDraft): string {
  const entry: Json = transportEntry(transport);
  if (!enabled) entry.enabled = false;
  if (!autostart) entry.autostart = false;
  for (const key of ["description", "icon", "group"] as const) {
    if (look[key] !== null) entry[key] = look[key];
  }
  const held = (Object.keys(defaultLimits) as (keyof ServerLimits)[]).filter(
    (key) => JSON.stringify(limits[key]) !== JSON.stringify(defaultLimits[key]),
  );
  if (held.length > 0) entry.limits = Object.fromEntries(held.map((key) => [key, limits[key]]));
  return JSON.stringify({ [name]: entry }, null, 2);
}

function transportEntry(transport: Transport): Json {
  switch (transport.type) {
    case "stdio": {
      const { command, args, env, cwd, streams } = transport;
      return {
        command,
        ...(args.length > 0 && { args }),
        ...(Object.keys(env).length > 0 && { env }),
        ...(cwd !== null && { cwd }),
        ...(streams === "pipes" && { streams }),
      };
    }
    case "builtin":
      return { type: "builtin", builtin: transport.builtin };
    case "auto":
    case "http":
    case "sse":
    case "ws": {
      const { type, url, headers, headersFrom, signIn } = transport;
      const differs = signInEntry(signIn);
      return {
        type,
        url,
        ...(Object.keys(headers).length > 0 && { headers }),
        ...(headersFrom !== null && { headersFrom }),
        ...(Object.keys(differs).length > 0 && { signIn: differs }),
      };
    }
  }
}

/** What differs from the usual, without what is absent. */
function signInEntry(signIn: SignInSettings): Json {
  const names = Object.keys(defaultSignIn) as (keyof SignInSettings)[];
  const differing = names.filter((name) => JSON.stringify(signIn[name]) !== JSON.stringify(defaultSignIn[name]));
  return Object.fromEntries(differing.map((name) => [name, present(signIn[name])]));
}

const present = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : value;

const common = ["type", "enabled", "autostart", "description", "icon", "group", "limits", "gatehouse"];
const types = ["stdio", "auto", "http", "sse", "ws", "builtin"] as const;
type Type = (typeof types)[number];

const stdioStreams = ["sockets", "pipes"] as const satisfies readonly StdioStreams[];

function own(type: Type): readonly string[] {
  if (type === "stdio") return ["command", "args", "env", "cwd", "streams"];
  return type === "builtin" ? ["builtin"] : ["url", "headers", "headersFrom", "signIn"];
}

/** Reads an entry. `before` is the server that is edited. */
export function readEntry(text: string, taken: readonly string[], before: ServerConfig): ReadEntry {
  const broken = syntaxErrorSpan(text);
  if (broken) return { faults: [{ ...broken, key: "json.broken" }] };
  const whole: unknown = JSON.parse(text);
  const reader = new Reader(text);
  const [first, second] = isObject(whole) ? Object.entries(whole) : [];
  if (!first || second || !isObject(first[1])) {
    reader.say("", "json.oneServer");
    return { faults: reader.faults };
  }
  const [name, entry] = first;
  const pointer = `/${escapePointerToken(name)}`;
  const type = typeOf(reader, entry, pointer);
  if (type === null) return { faults: reader.faults };
  reader.unknown(entry, pointer, [...common, ...own(type)]);
  const draft: ServerDraft = {
    name,
    transport: transportOf(reader, type, entry, pointer),
    enabled: reader.flag(entry, pointer, "enabled", true),
    autostart: reader.flag(entry, pointer, "autostart", true),
    look: {
      icon: reader.text(entry, pointer, "icon"),
      description: reader.text(entry, pointer, "description"),
      group: reader.text(entry, pointer, "group"),
    },
    limits: limitsOf(reader, entry, pointer),
  };
  if (reader.faults.length === 0) check(reader, draft, pointer, taken, before);
  return reader.faults.length === 0 ? { draft } : { faults: reader.faults };
}

function typeOf(reader: Reader, entry: Json, pointer: string): Type | null {
  if (entry.type !== undefined) {
    const known = types.find((one) => one === entry.type);
    if (!known) reader.say(`${pointer}/type`, "json.type", { types: types.join(", ") });
    return known ?? null;
  }
  if (entry.command !== undefined) return "stdio";
  if (entry.url !== undefined) return "auto";
  if (entry.builtin !== undefined) return "builtin";
  reader.say(pointer, "json.neither", undefined, "key");
  return null;
}

function transportOf(reader: Reader, type: Type, entry: Json, pointer: string): Transport {
  switch (type) {
    case "stdio":
      return {
        type,
        command: reader.needed(entry, pointer, "command"),
        args: reader.list(entry, pointer, "args"),
        env: reader.texts(entry, pointer, "env"),
        cwd: reader.text(entry, pointer, "cwd"),
        streams: streamsOf(reader, entry, pointer),
      };
    case "builtin":
      return { type, builtin: builtinOf(reader, entry, pointer) };
    case "auto":
    case "http":
    case "sse":
    case "ws":
      return {
        type,
        url: reader.needed(entry, pointer, "url"),
        headers: reader.texts(entry, pointer, "headers"),
        headersFrom: programOf(reader, entry, pointer),
        signIn: signInOf(reader, entry, pointer),
      };
  }
}

function programOf(reader: Reader, entry: Json, pointer: string): HeaderProgram | null {
  const given = entry.headersFrom;
  if (given === undefined || given === null) return null;
  const at = `${pointer}/headersFrom`;
  if (!isObject(given)) {
    reader.say(at, "json.program");
    return null;
  }
  reader.unknown(given, at, ["command", "args"]);
  return { command: reader.needed(given, at, "command"), args: reader.list(given, at, "args") };
}

/** An object that may be absent, with nothing in it that does not belong there. */
function part(reader: Reader, entry: Json, pointer: string, name: string, known?: readonly string[]): Json | null {
  const given = entry[name];
  if (given === undefined || given === null) return null;
  const at = `${pointer}/${name}`;
  if (!isObject(given)) {
    reader.say(at, "json.object");
    return null;
  }
  if (known) reader.unknown(given, at, known);
  return given;
}

function signInOf(reader: Reader, entry: Json, pointer: string): SignInSettings {
  const given = part(reader, entry, pointer, "signIn", Object.keys(defaultSignIn));
  if (given === null) return defaultSignIn;
  const at = `${pointer}/signIn`;
  return {
    off: reader.flag(given, at, "off", false),
    client: clientOf(reader, given, at),
    scopes: reader.list(given, at, "scopes"),
    redirect: reader.text(given, at, "redirect"),
    endpoints: endpointsOf(reader, given, at),
    with: withOf(reader, given, at),
  };
}

function clientOf(reader: Reader, entry: Json, pointer: string): RegisteredClient | null {
  const given = part(reader, entry, pointer, "client", ["id", "secret", "method"]);
  if (given === null) return null;
  const at = `${pointer}/client`;
  const method = tokenMethods.find((one) => one === given.method) ?? null;
  if (method === null && (given.method ?? null) !== null)
    reader.say(`${at}/method`, "json.oneOf", { words: tokenMethods.join(", ") });
  return {
    id: reader.filled(given, at, "id", "servers.signIn.needId"),
    secret: reader.text(given, at, "secret"),
    method,
  };
}

function endpointsOf(reader: Reader, entry: Json, pointer: string): SignInEndpoints | null {
  const given = part(reader, entry, pointer, "endpoints", ["authorize", "token", "revoke"]);
  if (given === null) return null;
  const at = `${pointer}/endpoints`;
  return {
    authorize: reader.filled(given, at, "authorize", "servers.signIn.badAddress"),
    token: reader.filled(given, at, "token", "servers.signIn.badAddress"),
    revoke: reader.text(given, at, "revoke"),
  };
}

function withOf(reader: Reader, entry: Json, pointer: string): SignInMethod {
  const usual = defaultSignIn.with;
  const given = part(reader, entry, pointer, "with");
  if (given === null) return usual;
  const at = `${pointer}/with`;
  switch (given.with) {
    case "browser":
    case "client_secret":
      reader.unknown(given, at, ["with"]);
      return { with: given.with };
    case "client_key":
      reader.unknown(given, at, ["with", "key", "algorithm"]);
      return {
        with: given.with,
        key: reader.needed(given, at, "key"),
        algorithm: reader.needed(given, at, "algorithm"),
      };
    case "enterprise":
      reader.unknown(given, at, ["with", "issuer", "client", "secret"]);
      return {
        with: given.with,
        issuer: reader.needed(given, at, "issuer"),
        client: reader.needed(given, at, "client"),
        secret: reader.text(given, at, "secret"),
      };
    default:
      reader.say(`${at}/with`, "json.oneOf", { words: signInMethods.join(", ") });
      return usual;
  }
}

function builtinOf(reader: Reader, entry: Json, pointer: string): Builtin {
  const given = entry.builtin;
  const at = `${pointer}/builtin`;
  if (isObject(given)) {
    switch (given.kind) {
      case "files":
        reader.unknown(given, at, ["kind", "folder"]);
        return { kind: "files", folder: reader.needed(given, at, "folder") };
      case "fetch":
        reader.unknown(given, at, ["kind", "allowPrivate"]);
        return { kind: "fetch", allowPrivate: reader.flag(given, at, "allowPrivate", false) };
      case "time":
      case "notes":
        reader.unknown(given, at, ["kind"]);
        return { kind: given.kind };
    }
  }
  reader.say(at, "json.builtin");
  return { kind: "time" };
}

function streamsOf(reader: Reader, entry: Json, pointer: string): StdioStreams {
  const given = entry.streams ?? "sockets";
  const known = stdioStreams.find((one) => one === given);
  if (known === undefined) reader.say(`${pointer}/streams`, "json.oneOf", { words: stdioStreams.join(", ") });
  return known ?? "sockets";
}

function limitsOf(reader: Reader, entry: Json, pointer: string): ServerLimits {
  const given = entry.limits;
  if (given === undefined) return defaultLimits;
  const at = `${pointer}/limits`;
  if (!isObject(given)) {
    reader.say(at, "json.object");
    return defaultLimits;
  }
  reader.unknown(given, at, Object.keys(defaultLimits));
  const read = (name: AmountName): number | null | "default" => {
    const value = given[name];
    if (value === undefined) return defaultLimits[name];
    if (isCallAmount(name) && (value === null || value === "default")) return value;
    if (typeof value === "number") return value;
    reader.say(`${at}/${name}`, isCallAmount(name) ? "json.callLimit" : "json.number");
    return 0;
  };
  const amount = Object.fromEntries(amounts.map((name) => [name, read(name)])) as Pick<ServerLimits, AmountName>;
  return { ...amount, strict: reader.flag(given, at, "strict", false), roots: reader.list(given, at, "roots") };
}

const signInPlaces: Record<SignInField, string> = {
  clientId: "/signIn/client/id",
  clientSecret: "/signIn/client/secret",
  redirect: "/signIn/redirect",
  authorize: "/signIn/endpoints/authorize",
  token: "/signIn/endpoints/token",
  revoke: "/signIn/endpoints/revoke",
  issuer: "/signIn/with/issuer",
  company: "/signIn/with/client",
  companySecret: "/signIn/with/secret",
  key: "/signIn/with/key",
};

/** What the form would say, at the places where it stands here. */
function check(reader: Reader, draft: ServerDraft, pointer: string, taken: readonly string[], before: ServerConfig) {
  const said: FormFaults = validateForm(fromConfig(draft), taken);
  const places: Partial<Record<keyof FormFaults, string>> = {
    command: "/command",
    url: "/url",
    headersFrom: "/headersFrom",
    folder: "/builtin/folder",
    roots: "/limits/roots",
    ...Object.fromEntries(amounts.map((name) => [name, `/limits/${name}`])),
    ...signInPlaces,
  };
  for (const [name, key] of Object.entries(said) as [keyof FormFaults, MessageKey][]) {
    if (name === "name") reader.say(pointer, key, undefined, "key");
    else if (places[name] !== undefined) reader.say(pointer + places[name], key);
  }
  const field = draft.transport.type === "stdio" ? "env" : "headers";
  const kept = secretsOf(before.transport);
  const moved = secretDestination(draft.transport) !== secretDestination(before.transport);
  for (const [name, value] of Object.entries(valuesOf(draft.transport))) {
    const at = `${pointer}/${field}/${escapePointerToken(name)}`;
    if (name.trim() === "") reader.say(at, "servers.form.needVarName", undefined, "key");
    if (!isReference(value)) continue;
    if (kept[name] !== value) reader.say(at, "json.newSecret");
    else if (moved) reader.say(at, "json.secretMoved");
  }
  const keptToSignIn = signInSecretsOf(before.transport);
  for (const [place, value] of Object.entries(signInSecretsOf(draft.transport))) {
    if (value === null) continue;
    if (keptToSignIn[place] !== value) reader.say(pointer + place, "json.newSecret");
    else if (moved) reader.say(pointer + place, "json.secretMoved");
  }
}

/** The secrets of the sign-in, by their places: references alone, whatever somebody may have written there. */
function signInSecretsOf(transport: Transport): Record<string, string | null> {
  if (transport.type === "stdio" || transport.type === "builtin") return {};
  const { client, with: how } = transport.signIn;
  return {
    [signInPlaces.clientSecret]: client?.secret ?? null,
    [signInPlaces.companySecret]: how.with === "enterprise" ? how.secret : null,
    [signInPlaces.key]: how.with === "client_key" ? how.key : null,
  };
}

const isReference = (value: string) => value.includes("${secret:");

function valuesOf(transport: Transport): Record<string, string> {
  if (transport.type === "builtin") return {};
  return transport.type === "stdio" ? transport.env : transport.headers;
}

const secretsOf = (transport: Transport) =>
  Object.fromEntries(Object.entries(valuesOf(transport)).filter(([, value]) => isReference(value)));
