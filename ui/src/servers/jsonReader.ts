// Reads an object that came out of a text, and says where in the text something is wrong. Pure, but it
// brings a parser: only what loads the editor may import this.

import type { MessageKey } from "../messages";
import { escapePointerToken, memberSpans, type MemberSpan, type Span } from "../components/jsonSpans";

export type JsonFault = Span & { key: MessageKey; values?: Readonly<Record<string, string>> };

export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Gathers what is wrong, and reads one member after the other. */
export class Reader {
  readonly faults: JsonFault[] = [];
  readonly #places: ReadonlyMap<string, readonly MemberSpan[]>;

  constructor(text: string) {
    this.#places = memberSpans(text);
    for (const places of this.#places.values()) {
      const [, again] = places;
      if (again) this.faults.push({ ...again.key, key: "json.twice" });
    }
  }

  /** Says what is wrong with a member: at its value, or at its name. */
  say(pointer: string, key: MessageKey, values?: Readonly<Record<string, string>>, part: keyof MemberSpan = "value") {
    let at = pointer;
    while (!this.#places.has(at) && at !== "") at = at.slice(0, at.lastIndexOf("/"));
    const found = this.#places.get(at)?.[0] ?? { key: { from: 0, to: 0 }, value: { from: 0, to: 0 } };
    // Of what is missing, the name of what it is missing in.
    this.faults.push({ ...found[at === pointer ? part : "key"], key, ...(values && { values }) });
  }

  unknown(entry: Json, pointer: string, known: readonly string[]) {
    for (const name of Object.keys(entry)) {
      if (!known.includes(name))
        this.say(
          `${pointer}/${escapePointerToken(name)}`,
          name === "name" ? "json.name" : "json.unknown",
          { name },
          "key",
        );
    }
  }

  text(entry: Json, pointer: string, name: string): string | null {
    const value = entry[name];
    if (value === undefined || value === null) return null;
    if (typeof value === "string") return value;
    this.say(`${pointer}/${name}`, "json.text");
    return null;
  }

  needed(entry: Json, pointer: string, name: string): string {
    if (entry[name] === undefined) this.say(`${pointer}/${name}`, "json.missing", { name });
    return this.text(entry, pointer, name) ?? "";
  }

  /** Of what the form would take for absent where it is empty. */
  filled(entry: Json, pointer: string, name: string, key: MessageKey): string {
    const value = this.needed(entry, pointer, name);
    if (entry[name] === value && value.trim() === "") this.say(`${pointer}/${name}`, key);
    return value;
  }

  flag(entry: Json, pointer: string, name: string, otherwise: boolean): boolean {
    const value = entry[name];
    if (value === undefined) return otherwise;
    if (typeof value !== "boolean") this.say(`${pointer}/${name}`, "json.flag");
    return value === true;
  }

  list(entry: Json, pointer: string, name: string): string[] {
    const value = entry[name];
    if (value === undefined) return [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    this.say(`${pointer}/${name}`, "json.list");
    return [];
  }

  texts(entry: Json, pointer: string, name: string): Record<string, string> {
    const value = entry[name];
    if (value === undefined) return {};
    if (isObject(value)) {
      const all = Object.entries(value);
      for (const [key, one] of all)
        if (typeof one !== "string") this.say(`${pointer}/${name}/${escapePointerToken(key)}`, "json.text");
      return Object.fromEntries(all.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
    }
    this.say(`${pointer}/${name}`, "json.texts");
    return {};
  }
}
