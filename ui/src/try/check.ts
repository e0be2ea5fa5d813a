// Arguments against a tool's schema. Interpreted, since the content security policy lets nothing compile;
// a reference to another place is never fetched. Patterns that could run for ever are left to the server.

import { validate, dereference, type OutputUnit, type Schema } from "@cfworker/json-schema";

import type { MessageKey } from "../messages";

export type ArgumentFault = {
  /** Members on the way to the value. */
  path: string[];
  rule: string;
  key: MessageKey;
  values: Readonly<Record<string, string>>;
};

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What is wrong with a value. A schema that cannot be followed finds nothing: the server has the last word. */
export function faultsOf(schema: object, value: unknown): ArgumentFault[] {
  try {
    return unitsOf(schema, value)
      .filter(isOwn)
      .map((unit) => toFault(schema, unit));
  } catch {
    return [];
  }
}

/** Whether a value fits; a schema that cannot be followed is fitted by nothing. */
export function fits(schema: object, value: unknown): boolean {
  try {
    return unitsOf(schema, value).length === 0;
  } catch {
    return false;
  }
}

function unitsOf(schema: object, value: unknown): OutputUnit[] {
  // Reading a schema leaves marks in it.
  const own = tame(structuredClone(schema)) as Schema;
  const draft = /draft-0[34]/.test(own.$schema ?? "") ? "4" : /draft-0[67]/.test(own.$schema ?? "") ? "7" : "2020-12";
  return validate(value === undefined ? {} : value, own, draft, dereference(own), false).errors;
}

/** A group that repeats, and in which something repeats or branches, can take for ever. */
const wild = /\((?:[^()\\]|\\.)*[|+*}](?:[^()\\]|\\.)*\)+[+*{]/;

function tame(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(tame);
  if (!isObject(node)) return node;
  const kept = Object.entries(node).filter(
    ([key, value]) => !(key === "pattern" && typeof value === "string" && wild.test(value)),
  );
  return Object.fromEntries(
    kept.map(([key, value]) => {
      const patterns = key === "patternProperties" && isObject(value);
      return [
        key,
        tame(patterns ? Object.fromEntries(Object.entries(value).filter(([pattern]) => !wild.test(pattern))) : value),
      ];
    }),
  );
}

/** Rules that only say that something inside does not fit, which says so itself. */
const around = new Set([
  "properties",
  "patternProperties",
  "items",
  "prefixItems",
  "$ref",
  "$recursiveRef",
  "allOf",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "additionalItems",
]);

/** Of several alternatives none fits: that is said once, and not what is wrong with each. */
const isOwn = ({ keyword, keywordLocation }: OutputUnit) =>
  !around.has(keyword) && !/\/(anyOf|oneOf|not|contains)\/./.test(keywordLocation);

function toFault(schema: object, { keyword, keywordLocation, instanceLocation, error }: OutputUnit): ArgumentFault {
  const path = pointerPath(instanceLocation);
  const rule = ruleAt(schema, keywordLocation);
  const missing = keyword === "required" ? /property "([\s\S]*)"\.?$/.exec(error)?.[1] : undefined;
  if (missing !== undefined) return { path: [...path, missing], rule: keyword, key: "fault.needed", values: {} };
  const key = keys[keyword];
  const isPlain = typeof rule === "string" || typeof rule === "number";
  if (!key || (!isPlain && key !== "fault.choice"))
    return { path, rule: keyword, key: "fault.other", values: { rule: keyword } };
  return { path, rule: keyword, key, values: { count: isPlain ? String(rule) : "" } };
}

const keys: Readonly<Record<string, MessageKey | undefined>> = {
  minLength: "fault.short",
  maxLength: "fault.long",
  minimum: "fault.less",
  maximum: "fault.more",
  exclusiveMinimum: "fault.above",
  exclusiveMaximum: "fault.below",
  multipleOf: "fault.multiple",
  minItems: "fault.fewItems",
  maxItems: "fault.manyItems",
  type: "fault.type",
  pattern: "fault.pattern",
  format: "fault.format",
  enum: "fault.choice",
};

const pointerPath = (pointer: string) =>
  pointer
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => decoded(part).replaceAll("~1", "/").replaceAll("~0", "~"));

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The value of the rule that was broken, also behind references. */
function ruleAt(schema: object, location: string): unknown {
  let node: unknown = schema;
  for (const part of pointerPath(location)) {
    const next: unknown = isObject(node) || Array.isArray(node) ? (node as Json)[part] : undefined;
    node = part === "$ref" && typeof next === "string" ? ruleAt(schema, next) : next;
  }
  return node;
}
