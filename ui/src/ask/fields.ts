// The fields of a form that a server asks for: read from its schema, checked, made into its answer. Pure.
// The core checks all of it again; a pattern is left to it alone, since a hostile one could hang the page.

import type { MessageKey } from "../messages";

type Option = { value: string; label: string };

type Kind =
  | {
      is: "text";
      format: "email" | "uri" | "date" | "date-time" | null;
      least: number;
      most: number | null;
      pattern: string | null;
    }
  | { is: "number"; whole: boolean; least: number | null; most: number | null }
  | { is: "boolean" }
  | { is: "one"; options: Option[] }
  | { is: "many"; options: Option[]; least: number; most: number | null };

export type Field = {
  name: string;
  title: string;
  description: string | null;
  required: boolean;
  kind: Kind;
  first: Value;
};

/** What a field holds: ticks as they are, everything else as it was typed. */
export type Value = string | boolean | readonly string[];
export type Values = Readonly<Record<string, Value>>;

export type Fault = { key: MessageKey; values?: Readonly<Record<string, string | number>> };

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown) => (typeof value === "string" ? value : null);
const number = (value: unknown) => (typeof value === "number" ? value : null);

/** The fields in the schema's order; nothing where it wants what no field can give. */
export function fieldsOf(schema: string): readonly Field[] | null {
  const whole = parsed(schema);
  if (!isObject(whole) || !isObject(whole.properties)) return null;
  const required = Array.isArray(whole.required) ? (whole.required as unknown[]) : [];
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(whole.properties)) {
    const kind = isObject(property) ? kindOf(property) : null;
    if (kind && isObject(property)) {
      fields.push({
        name,
        title: text(property.title) ?? name,
        description: text(property.description),
        required: required.includes(name),
        kind,
        first: firstOf(kind, property.default),
      });
    } else if (required.includes(name)) return null;
  }
  return fields;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return null;
  }
}

function kindOf(property: Json): Kind | null {
  switch (property.type) {
    case "string": {
      const options = optionsOf(property);
      if (options) return { is: "one", options };
      const formats = ["email", "uri", "date", "date-time"] as const;
      return {
        is: "text",
        format: formats.find((one) => one === property.format) ?? null,
        least: number(property.minLength) ?? 0,
        most: number(property.maxLength),
        pattern: text(property.pattern),
      };
    }
    case "number":
    case "integer":
      return {
        is: "number",
        whole: property.type === "integer",
        least: number(property.minimum),
        most: number(property.maximum),
      };
    case "boolean":
      return { is: "boolean" };
    case "array": {
      const options = isObject(property.items) ? optionsOf(property.items) : null;
      return options && { is: "many", options, least: number(property.minItems) ?? 0, most: number(property.maxItems) };
    }
    default:
      return null;
  }
}

function optionsOf(of: Json): Option[] | null {
  const named = Array.isArray(of.oneOf) ? of.oneOf : of.anyOf;
  if (Array.isArray(named)) {
    return named.filter(isObject).flatMap((one) => {
      const value = text(one.const);
      return value === null ? [] : [{ value, label: text(one.title) ?? value }];
    });
  }
  if (!Array.isArray(of.enum)) return null;
  const names: unknown[] = Array.isArray(of.enumNames) ? of.enumNames : [];
  return of.enum.flatMap((one, at) => {
    const value = text(one);
    return value === null ? [] : [{ value, label: text(names[at]) ?? value }];
  });
}

function firstOf(kind: Kind, given: unknown): Value {
  switch (kind.is) {
    case "boolean":
      return given === true;
    case "many":
      return kind.options.map(({ value }) => value).filter((value) => Array.isArray(given) && given.includes(value));
    case "one":
      return kind.options.find(({ value }) => value === given)?.value ?? "";
    case "number":
      return typeof given === "number" ? String(given) : "";
    case "text":
      return kind.format === "date-time" ? local(text(given) ?? "") : (text(given) ?? "");
  }
}

/** A moment as fields for dates with times have it: in the clock of this computer. */
function local(moment: string): string {
  const at = new Date(moment);
  if (moment === "" || Number.isNaN(at.getTime())) return "";
  const two = (part: number) => String(part).padStart(2, "0");
  const day = [String(at.getFullYear()).padStart(4, "0"), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** What the form holds in the beginning. */
export function firstValues(fields: readonly Field[]): Values {
  return Object.fromEntries(fields.map(({ name, first }) => [name, first]));
}

/** What is wrong, by the field's name. */
export function faultsOf(fields: readonly Field[], values: Values): ReadonlyMap<string, Fault> {
  return new Map(
    fields.flatMap((field) => {
      const fault = faultOf(field, values[field.name] ?? "");
      return fault ? [[field.name, fault] as const] : [];
    }),
  );
}

function faultOf({ kind, required }: Field, value: Value): Fault | null {
  switch (kind.is) {
    case "boolean":
      return null;
    case "many": {
      const count = Array.isArray(value) ? value.length : 0;
      if (count === 0 && !required) return null;
      if (count < kind.least) return { key: "fault.fewItems", values: { count: kind.least } };
      return kind.most !== null && count > kind.most ? { key: "fault.manyItems", values: { count: kind.most } } : null;
    }
    case "one":
      return value === "" && required ? { key: "fault.needed" } : null;
    case "number":
      if (value === "") return required ? { key: "fault.needed" } : null;
      return faultOfNumber(kind, Number(value));
    case "text":
      if (typeof value !== "string" || value === "") return required ? { key: "fault.needed" } : null;
      return faultOfText(kind, value);
  }
}

function faultOfNumber({ whole, least, most }: Extract<Kind, { is: "number" }>, value: number): Fault | null {
  if (!Number.isFinite(value)) return { key: "fault.number" };
  if (whole && !Number.isSafeInteger(value)) return { key: "fault.whole" };
  if (least !== null && value < least) return { key: "fault.less", values: { count: least } };
  return most !== null && value > most ? { key: "fault.more", values: { count: most } } : null;
}

function faultOfText({ format, least, most }: Extract<Kind, { is: "text" }>, value: string): Fault | null {
  const length = Array.from(value).length;
  if (length < least) return { key: "fault.short", values: { count: least } };
  if (most !== null && length > most) return { key: "fault.long", values: { count: most } };
  switch (format) {
    case null:
      return null;
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(value) ? null : { key: "fault.email" };
    case "uri":
      return /^[a-z][a-z\d+.-]*:\S+$/i.test(value) ? null : { key: "fault.uri" };
    case "date":
      return isDay(value) ? null : { key: "fault.date" };
    case "date-time":
      return Number.isNaN(new Date(value).getTime()) ? { key: "fault.dateTime" } : null;
  }
}

function isDay(value: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(value) ? new Date(`${value}T00:00:00Z`) : null;
  return at !== null && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value);
}

/** The answer as JSON text. What was left empty is left out. */
export function contentOf(fields: readonly Field[], values: Values): string {
  const content = fields.flatMap(({ name, kind, required }): [string, unknown][] => {
    const value = values[name] ?? "";
    if (kind.is === "boolean") return [[name, value === true]];
    if (kind.is === "many") return Array.isArray(value) && (value.length > 0 || required) ? [[name, value]] : [];
    if (typeof value !== "string" || value === "") return [];
    if (kind.is === "number") return [[name, Number(value)]];
    return [[name, kind.is === "text" && kind.format === "date-time" ? new Date(value).toISOString() : value]];
  });
  return JSON.stringify(Object.fromEntries(content));
}

// What cannot be seen, or turns what is beside it around.
const unseen = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** A server's own text with marks in place of what cannot be seen. */
export function seen(raw: string): string {
  return raw.replace(unseen, (char) =>
    char === "\n" || char === "\t"
      ? char
      : `⟦U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟧`,
  );
}
