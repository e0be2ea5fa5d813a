// Values of forms against their schema. Interpreted, since the content security policy lets nothing compile;
// a reference to another place is never fetched. Patterns that could run for ever are left to the server.

import { validate, dereference, type OutputUnit, type Schema } from "@cfworker/json-schema";

import { unescapePart } from "../components/jsonPointer";
import type { MessageKey } from "../messages";

export type SchemaError = {
  /** Members on the way to the value. */
  path: string[];
  rule: string;
  key: MessageKey;
  values: Readonly<Record<string, string | number>>;
};

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What is wrong with a value. A schema that cannot be followed finds nothing: the server has the last word. */
export function schemaErrors(schema: object, value: unknown): SchemaError[] {
  try {
    return unitsOf(schema, value)
      .filter(isOwn)
      .map((unit) => toError(schema, unit));
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

function toError(schema: object, { keyword, keywordLocation, instanceLocation, error }: OutputUnit): SchemaError {
  const path = pointerPath(instanceLocation);
  const rule = ruleAt(schema, keywordLocation);
  const missing = keyword === "required" ? /property "([\s\S]*)"\.?$/.exec(error)?.[1] : undefined;
  if (missing !== undefined) return { path: [...path, missing], rule: keyword, key: "fault.needed", values: {} };
  if (keyword === "enum" || (keyword === "oneOf" && isListOfOptions(rule)))
    return { path, rule: keyword, key: "fault.choice", values: {} };
  const found =
    typeof rule === "number" ? limits[keyword] : typeof rule === "string" ? (named[rule] ?? texts[keyword]) : undefined;
  if (!found) return { path, rule: keyword, key: "fault.other", values: { rule: keyword } };
  return {
    path,
    rule: keyword,
    key: found.key,
    values: found.name === undefined ? {} : { [found.name]: rule as string | number },
  };
}

const isListOfOptions = (rule: unknown) => Array.isArray(rule) && rule.every((one) => isObject(one) && "const" in one);

type Text = { key: MessageKey; name?: string };

/** Rules with a number, by keyword. */
const limits: Readonly<Record<string, Text | undefined>> = {
  minLength: { key: "fault.short", name: "count" },
  maxLength: { key: "fault.long", name: "count" },
  minimum: { key: "fault.less", name: "count" },
  maximum: { key: "fault.more", name: "count" },
  exclusiveMinimum: { key: "fault.above", name: "count" },
  exclusiveMaximum: { key: "fault.below", name: "count" },
  multipleOf: { key: "fault.multiple", name: "count" },
  minItems: { key: "fault.fewItems", name: "count" },
  maxItems: { key: "fault.manyItems", name: "count" },
};

/** Rules with a text, by keyword. */
const texts: Readonly<Record<string, Text | undefined>> = {
  type: { key: "fault.type", name: "type" },
  pattern: { key: "fault.pattern", name: "pattern" },
  format: { key: "fault.format", name: "format" },
};

/** Types and formats that have a text of their own. */
const named: Readonly<Record<string, Text | undefined>> = {
  number: { key: "fault.number" },
  integer: { key: "fault.whole" },
  email: { key: "fault.email" },
  uri: { key: "fault.uri" },
  date: { key: "fault.date" },
  "date-time": { key: "fault.dateTime" },
};

const pointerPath = (pointer: string) =>
  pointer
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => unescapePart(decoded(part)));

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
