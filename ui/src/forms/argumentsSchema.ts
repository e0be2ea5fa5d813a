// A tool's schema and its arguments as a form can hold them. Pure.

import type { RJSFSchema } from "@rjsf/utils";

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The schema, where a form can be made of it. */
export function argumentsSchema(text: string): RJSFSchema | null {
  try {
    const schema: unknown = JSON.parse(text);
    if (!isObject(schema) || (schema.type !== undefined && schema.type !== "object")) return null;
    return opened({ ...schema, type: "object" }) as RJSFSchema;
  } catch {
    return null;
  }
}

/** An object of which nothing is said may hold anything: only so does a form let one add members. */
function opened(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(opened);
  if (!isObject(node)) return node;
  const inside = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, kept.has(key) ? value : opened(value)]),
  );
  const isOpen = node.type === "object" && !shaping.some((key) => key in node);
  return isOpen ? { ...inside, additionalProperties: true } : inside;
}

const kept = new Set(["default", "const", "enum", "examples", "required"]);
const shaping = ["properties", "additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"];

/** Without the empty objects that a form leaves where optional members were cleared. */
export function withoutEmpty(schema: unknown, value: unknown): unknown {
  if (!isObject(value)) return value;
  const { properties, required } = isObject(schema) ? schema : {};
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const left = withoutEmpty(isObject(properties) ? properties[name] : undefined, member);
    const isNeeded = Array.isArray(required) && required.includes(name);
    return left === undefined || (isObject(left) && Object.keys(left).length === 0 && !isNeeded) ? [] : [[name, left]];
  });
  return Object.fromEntries(members);
}
