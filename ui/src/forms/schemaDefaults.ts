// The defaults of a tool's schema, at every depth. Pure.

import { pointerParts } from "../components/jsonPointer";

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Values are filled in this deep. */
const DEEPEST = 32;

/**
 * A value with what its schema gives for the members that it lacks: in objects within objects, in the items of its
 * lists, and behind references inside the schema. A list gets no items beyond those of its own default.
 */
export function withDefaults(schema: unknown, value?: unknown): unknown {
  return filled(schema, value, { root: schema, depth: 0, refs: [] });
}

/** `refs` are the references on the way here. */
type Place = { root: unknown; depth: number; refs: readonly string[] };

function filled(node: unknown, given: unknown, { root, depth, refs }: Place): unknown {
  const ref = isObject(node) && typeof node.$ref === "string" ? node.$ref : null;
  // What holds itself is not made deeper than it is.
  if (given === undefined && ref !== null && refs.includes(ref)) return undefined;
  const schema = followed(node, root);
  if (!schema || depth > DEEPEST) return given;
  const place = { root, depth: depth + 1, refs: ref === null ? refs : [...refs, ref] };
  let value = given === undefined ? structuredClone(schema.default) : given;
  for (const part of Array.isArray(schema.allOf) ? (schema.allOf as unknown[]) : []) value = filled(part, value, place);
  if (Array.isArray(value)) {
    const first = Array.isArray(schema.prefixItems) ? (schema.prefixItems as unknown[]) : [];
    return value.map((item, at) => filled(first[at] ?? schema.items, item, place));
  }
  if (isObject(schema.properties) && (value === undefined || isObject(value))) {
    const members = { ...value };
    for (const [name, property] of Object.entries(schema.properties)) {
      const member = filled(property, Object.hasOwn(members, name) ? members[name] : undefined, place);
      if (member !== undefined)
        Object.defineProperty(members, name, { value: member, enumerable: true, configurable: true, writable: true });
    }
    // An object that is left out and has no defaults stays left out.
    return value === undefined && Object.keys(members).length === 0 ? undefined : members;
  }
  return value;
}

/** A schema, or the one inside the same document that it refers to. */
function followed(node: unknown, root: unknown): Json | null {
  let schema = node;
  for (let step = 0; step < DEEPEST; step += 1) {
    if (!isObject(schema)) return null;
    if (typeof schema.$ref !== "string") return schema;
    if (!/^#(\/|$)/.test(schema.$ref)) return null;
    let target: unknown = root;
    for (const name of pointerParts(schema.$ref)) {
      target = isObject(target) && Object.hasOwn(target, name) ? target[name] : undefined;
    }
    schema = target;
  }
  return null;
}
