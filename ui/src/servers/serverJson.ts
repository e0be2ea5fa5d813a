// A server as its entry in servers.json, written as text. The core reads it back. Pure.

import type { ServerDraft, ServerLimits, SignInSettings, Transport } from "../generated/types";
import { defaultLimits } from "./serverForm";
import { isSecretSetting } from "./secretNames";
import { defaultSignIn } from "./signInForm";

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What differs from the usual, as in the file; Gatehouse's own mark is left out, since nobody edits it. */
export function entryText(draft: ServerDraft): string {
  const { name, transport, protocolVersion, enabled, autostart, recordBodies, look, limits, registry } = draft;
  const entry: Json = transportEntry(transport);
  if (protocolVersion !== "auto") entry.protocolVersion = protocolVersion;
  if (!enabled) entry.enabled = false;
  if (!autostart) entry.autostart = false;
  if (!recordBodies) entry.recordBodies = false;
  for (const key of ["description", "icon", "group"] as const) {
    if (look[key] !== null) entry[key] = look[key];
  }
  const held = (Object.keys(defaultLimits) as (keyof ServerLimits)[]).filter(
    (key) => JSON.stringify(limits[key]) !== JSON.stringify(defaultLimits[key]),
  );
  if (held.length > 0) entry.limits = Object.fromEntries(held.map((key) => [key, limits[key]]));
  if (registry !== null) entry.registry = registry;
  return JSON.stringify({ [name]: entry }, null, 2);
}

/** A member of an object with a simple value, which may not be typed to its end. */
const member = /("(?:[^"\\\n]|\\.)*")(\s*:\s*)("(?:[^"\\\n]|\\.)*"?|[^\s"{[,}\]][^,}\]\n]*)/g;

/** Values that are no secret whatever their name is: references, also behind a scheme, addresses, and what is no text. */
const isHarmless = (value: string) => /^"(\w+ )?\$\{\w+:[^}]*\}"?$|^"https?:\/\/|^(true|false|null)\s*$/.test(value);

/** A text without the secrets in it that are not in the saved text, as far as names show. It need not be JSON yet. */
export function withoutTypedSecrets(text: string, saved: string): string {
  const savedMembers = new Set(
    Array.from(saved.matchAll(member), ([, name, , value]) => `${name ?? ""}${value ?? ""}`),
  );
  return text.replace(member, (whole, name: string, colon: string, value: string) =>
    !isSecretSetting(name.slice(1, -1)) || isHarmless(value) || savedMembers.has(name + value)
      ? whole
      : `${name}${colon}""`,
  );
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
