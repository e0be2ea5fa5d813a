// A condition on an argument as a person writes it: which argument, which kind, which value. Pure. The core
// checks each one again, and that it holds for the call at hand.

import { pointerTo } from "../../components/jsonPointer";
import type { Condition, ConditionTest, OfferedCondition, ShownArgument } from "../../generated/types";
import { conditionValue } from "./conditionValue";

export type ConditionKind = ConditionTest["test"];

/** A condition while it is typed. */
export type ConditionDraft = { argument: string; kind: ConditionKind; text: string };

/** An argument that a condition can be about. */
export type ConditionArgument = { name: string; value: unknown };

/** Longer values are not offered for conditions. */
const MAX_VALUE_CHARS = 200;

/** The arguments that conditions can be about: no secrets, and nothing that holds hidden characters. */
export function conditionArguments(shown: readonly ShownArgument[] | null): readonly ConditionArgument[] {
  return (shown ?? []).flatMap(({ name, text, masked }) => {
    if (masked || text.length > 20 * MAX_VALUE_CHARS || /⟦U\+[\dA-F]+⟧/.test(name + text)) return [];
    try {
      const value: unknown = JSON.parse(text);
      return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
        ? [{ name, value }]
        : [];
    } catch {
      return [];
    }
  });
}

/** The condition kinds that fit a value. */
export function conditionKindsFor(value: unknown): readonly ConditionKind[] {
  if (typeof value !== "string") return ["equals", "one_of"];
  const place: ConditionKind[] = [
    ...(isPath(value) ? (["inside"] as const) : []),
    ...(hostOf(value) === null ? [] : (["host_is"] as const)),
  ];
  return [...place, "equals", "one_of", "starts_with", "glob"];
}

/** The first proposed condition for each argument. */
export function bestProposals(proposals: readonly OfferedCondition[]): readonly OfferedCondition[] {
  const first = (pointer: string) => proposals.findIndex(({ condition }) => condition.pointer === pointer);
  return proposals.filter(({ condition }, at) => first(condition.pointer) === at);
}

/** The first draft for an argument: the core's proposal, or else derived from the value. */
export function initialDraft(
  { name, value }: ConditionArgument,
  wanted: ConditionKind | null,
  proposals: readonly OfferedCondition[],
): ConditionDraft {
  const kinds = conditionKindsFor(value);
  const kind = kinds.find((one) => one === wanted) ?? kinds[0] ?? "equals";
  const proposed = proposals.find(
    ({ condition: { pointer, test } }) => pointer === pointerTo(name) && test.test === kind,
  );
  return { argument: name, kind, text: proposed ? textOf(proposed.condition.test, value) : initialText(kind, value) };
}

/** The initial text of the value field; the condition holds for the present call. */
export function initialText(kind: ConditionKind, value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  switch (kind) {
    case "equals":
    case "one_of":
      return text;
    case "starts_with":
      return text.slice(0, text.lastIndexOf("/") + 1) || text;
    case "inside":
      return text.slice(0, text.lastIndexOf("/")) || "/";
    case "host_is":
      return hostOf(text) ?? "";
    case "glob": {
      const name = text.slice(text.lastIndexOf("/") + 1);
      const dot = name.lastIndexOf(".");
      return `${text.slice(0, text.length - name.length)}*${dot > 0 ? name.slice(dot) : ""}`;
    }
  }
}

/** The draft of a condition; null if it is not about one of these arguments. */
export function draftFromCondition(
  { pointer, test }: Condition,
  arguments_: readonly ConditionArgument[],
): ConditionDraft | null {
  const argument = arguments_.find(({ name }) => pointerTo(name) === pointer);
  return argument ? { argument: argument.name, kind: test.test, text: textOf(test, argument.value) } : null;
}

/** The condition of a draft; null if it is empty or its value is not JSON. */
export function conditionFromDraft(
  { argument, kind, text }: ConditionDraft,
  arguments_: readonly ConditionArgument[],
): Condition | null {
  const found = arguments_.find(({ name }) => name === argument);
  const test = found && testOf(kind, text, found.value);
  return test ? { pointer: pointerTo(argument), test } : null;
}

function testOf(kind: ConditionKind, text: string, value: unknown): ConditionTest | null {
  const trimmed = text.trim();
  switch (kind) {
    case "equals": {
      const json = jsonOf(text, value);
      return json === null ? null : { test: kind, value: json };
    }
    case "one_of": {
      const values = text
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map((line) => jsonOf(line, value));
      const whole = values.filter((one) => one !== null);
      return whole.length === 0 || whole.length < values.length ? null : { test: kind, values: [...new Set(whole)] };
    }
    case "starts_with":
      return text === "" ? null : { test: kind, text };
    case "inside":
      return trimmed === ""
        ? null
        : { test: kind, folder: trimmed.length > 1 ? trimmed.replace(/\/+$/, "") || "/" : trimmed };
    case "host_is":
      return hostTest(trimmed);
    case "glob":
      return trimmed === "" ? null : { test: kind, pattern: trimmed };
  }
}

/** The text of the value field for a condition on this argument value. */
function textOf(test: ConditionTest, value: unknown): string {
  return conditionValue(test, { json: (one) => plain(one, value), separator: "\n" });
}

/** `example.org`, `example.org:8443`, `[::1]:8443`; what else is wrong with a host is the core's to say. */
function hostTest(text: string): ConditionTest | null {
  const [, host = text, digits] = /^(.*[^:]):(\d{1,5})$/.exec(text) ?? [];
  if (host === "" || (host.startsWith("[") && !host.endsWith("]")))
    return text === "" ? null : { test: "host_is", host: text, port: null };
  const port = digits === undefined ? null : Number(digits);
  return port !== null && port > 65_535 ? null : { test: "host_is", host, port };
}

/** A value as JSON text: what is typed for a text is the text, for anything else it is JSON. */
function jsonOf(text: string, like: unknown): string | null {
  if (typeof like === "string") return JSON.stringify(text);
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return null;
  }
}

function plain(json: string, like: unknown): string {
  if (typeof like !== "string") return json;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "string" ? value : json;
  } catch {
    return json;
  }
}

const isPath = (text: string) => /^(\/|[A-Za-z]:[\\/])/.test(text) && !text.includes("\n");

function hostOf(text: string): string | null {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { host } = new URL(text);
  return host === "" ? null : host;
}
