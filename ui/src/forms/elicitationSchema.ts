// The form that a server asks for, made of the flat schemas that MCP allows for elicitation. What the schema has beyond
// them is left out, and what is left out cannot be required. The core checks every answer again; a pattern is left to it
// alone, since a hostile one could hang the page. Pure.

import type { RJSFSchema, UiSchema } from "@rjsf/utils";

type Json = Record<string, unknown>;
export type FormValue = Readonly<Record<string, unknown>>;
export type Elicitation = {
  schema: RJSFSchema;
  uiSchema: UiSchema;
  /** What the form holds in the beginning: the defaults. */
  value: FormValue;
  /** Patterns that fields are told of, by name. */
  patterns: Readonly<Record<string, string>>;
};

type Property = { schema: RJSFSchema; uiSchema?: UiSchema; value?: unknown; pattern?: string };
type Option = { const: string; title: string };

/** Texts that may be longer than this have more than one line. */
const ONE_LINE = 200;

const formats = ["email", "uri", "date", "date-time"];

/** Names that a form cannot hold a value under. */
const unusable = new Set(["__proto__", "constructor", "prototype"]);

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown) => (typeof value === "string" ? value : undefined);

/** The form, with its fields in the schema's order; nothing where it requires what no field can give. */
export function readElicitation(json: string): Elicitation | null {
  const whole = parsed(json);
  if (!isObject(whole) || !isObject(whole.properties)) return null;
  const required = Array.isArray(whole.required) ? (whole.required as unknown[]) : [];
  const properties: Record<string, RJSFSchema> = {};
  const uiSchema: UiSchema = {};
  const value: Record<string, unknown> = {};
  const patterns: Record<string, string> = {};
  for (const [name, given] of Object.entries(whole.properties)) {
    const isRequired = required.includes(name);
    const property = isObject(given) && !unusable.has(name) ? propertyOf(given, isRequired) : null;
    if (!property || !isObject(given)) {
      if (isRequired) return null;
      continue;
    }
    const title = text(given.title) ?? name;
    const description = text(given.description);
    properties[name] = { title, ...(description !== undefined && { description }), ...property.schema };
    if (property.uiSchema) uiSchema[name] = property.uiSchema;
    if (property.value !== undefined) value[name] = property.value;
    if (property.pattern !== undefined) patterns[name] = property.pattern;
  }
  const known = required.filter((name): name is string => typeof name === "string" && Object.hasOwn(properties, name));
  // A required name without a field could never be given.
  if (known.length < new Set(required).size) return null;
  return { schema: { type: "object", properties, required: known }, uiSchema, value, patterns };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return null;
  }
}

function propertyOf(given: Json, isRequired: boolean): Property | null {
  switch (given.type) {
    case "string":
      return isObject(given) && hasOptions(given) ? choiceOf(given) : textOf(given);
    case "number":
    case "integer":
      return {
        schema: { type: given.type, ...numbers(given, ["minimum", "maximum"]) },
        value: typeof given.default === "number" ? given.default : undefined,
      };
    case "boolean":
      return { schema: { type: "boolean" }, value: given.default === true };
    case "array":
      return isObject(given.items) && hasOptions(given.items) ? choicesOf(given, given.items, isRequired) : null;
    default:
      return null;
  }
}

function textOf(given: Json): Property {
  const format = formats.find((one) => one === given.format);
  const bounds = numbers(given, ["minLength", "maxLength"]);
  const pattern = text(given.pattern);
  const first = text(given.default);
  const isLong = format === undefined && typeof given.maxLength === "number" && given.maxLength > ONE_LINE;
  return {
    schema: { type: "string", ...(format !== undefined && { format }), ...bounds },
    uiSchema: isLong ? { "ui:widget": "textarea" } : { "ui:options": { oneLine: true } },
    value: first === undefined || first === "" ? undefined : format === "date-time" ? moment(first) : first,
    ...(pattern !== undefined && { pattern }),
  };
}

function choiceOf(given: Json): Property | null {
  const options = optionsOf(given);
  if (options.length === 0) return null;
  return {
    schema: { type: "string", oneOf: options },
    value: options.find((one) => one.const === given.default)?.const,
  };
}

function choicesOf(given: Json, items: Json, isRequired: boolean): Property | null {
  const options = optionsOf(items);
  if (options.length === 0) return null;
  const wanted = Array.isArray(given.default) ? (given.default as unknown[]) : [];
  const first = options.map((one) => one.const).filter((one) => wanted.includes(one));
  return {
    schema: {
      type: "array",
      uniqueItems: true,
      items: { type: "string", oneOf: options },
      ...numbers(given, ["minItems", "maxItems"]),
    },
    value: first.length > 0 || isRequired ? first : undefined,
  };
}

const hasOptions = (of: Json) => Array.isArray(of.oneOf) || Array.isArray(of.anyOf) || Array.isArray(of.enum);

/** Each option once, with the name that people see. */
function optionsOf(of: Json): Option[] {
  const named = Array.isArray(of.oneOf) ? of.oneOf : of.anyOf;
  const names: unknown[] = Array.isArray(of.enumNames) ? of.enumNames : [];
  const all = Array.isArray(named)
    ? named.filter(isObject).map((one) => [one.const, one.title])
    : (of.enum as unknown[]).map((one, at) => [one, names[at]]);
  const options = new Map<string, Option>();
  for (const [value, title] of all) {
    if (typeof value === "string" && !options.has(value))
      options.set(value, { const: value, title: text(title) ?? value });
  }
  return [...options.values()];
}

const numbers = (of: Json, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (typeof of[name] === "number" ? [[name, of[name]]] : [])));

/** A moment as answers have it; nothing where it is none. */
function moment(given: string): string | undefined {
  const at = new Date(given);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** The answer as JSON text, in the schema's order. What was left empty is left out. */
export function contentOf({ schema }: Pick<Elicitation, "schema">, value: FormValue): string {
  const names = Object.keys(schema.properties ?? {}).filter((name) => value[name] !== undefined);
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, value[name]])));
}
