import { describe, expect, it } from "vitest";

import { splitUrl } from "../approvals/cards/urlParts";
import { contentOf, faultsOf, fieldsOf, firstValues, seen, type Value } from "./fields";

const schema = (properties: Record<string, unknown>, required: string[] = []) =>
  JSON.stringify({ type: "object", properties, required });

/** The fields of a schema, which has to have some. */
function read(properties: Record<string, unknown>, required: string[] = []) {
  const fields = fieldsOf(schema(properties, required));
  if (!fields) throw new Error("no fields");
  return fields;
}

describe("the fields of a form", () => {
  it("are read in order, with titles, defaults and what is required", () => {
    const fields = read(
      {
        name: { type: "string", title: "Your name", description: "As on the card", minLength: 2 },
        count: { type: "integer", default: 3 },
        sure: { type: "boolean", default: true },
        size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"], default: "m" },
        kind: { type: "string", oneOf: [{ const: "a", title: "First" }, { const: "b" }] },
        many: {
          type: "array",
          items: {
            type: "string",
            anyOf: [
              { const: "x", title: "X" },
              { const: "y", title: "Y" },
            ],
          },
          default: ["y", "gone"],
        },
      },
      ["name"],
    );
    expect(fields.map(({ name, title, required }) => [name, title, required])).toEqual([
      ["name", "Your name", true],
      ["count", "count", false],
      ["sure", "sure", false],
      ["size", "size", false],
      ["kind", "kind", false],
      ["many", "many", false],
    ]);
    expect(fields.map(({ kind }) => ("options" in kind ? kind.options.map(({ label }) => label) : kind.is))).toEqual([
      "text",
      "number",
      "boolean",
      ["Small", "Medium"],
      ["First", "b"],
      ["X", "Y"],
    ]);
    expect(firstValues(fields)).toEqual({ name: "", count: "3", sure: true, size: "m", kind: "", many: ["y"] });
    expect(contentOf(fields, firstValues(fields))).toBe('{"count":3,"sure":true,"size":"m","many":["y"]}');
  });

  it("are none where something that is required cannot be given", () => {
    expect(fieldsOf(schema({ deep: { type: "object" } }, ["deep"]))).toBeNull();
    expect(fieldsOf(schema({ deep: { type: "object" } }))).toEqual([]);
    for (const broken of ["", "[]", "{}", '{"properties":3}']) expect(fieldsOf(broken)).toBeNull();
  });

  it.each<[Record<string, unknown>, Value, string | null]>([
    [{ type: "string" }, "", "fault.needed"],
    [{ type: "string" }, "x", null],
    [{ type: "string", minLength: 2 }, "x", "fault.short"],
    [{ type: "string", maxLength: 2 }, "👍👍", null],
    [{ type: "string", maxLength: 2 }, "abc", "fault.long"],
    [{ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(40)}!`, null],
    [{ type: "string", format: "email" }, "ana@example.org", null],
    [{ type: "string", format: "email" }, "ana", "fault.email"],
    [{ type: "string", format: "uri" }, "https://example.org", null],
    [{ type: "string", format: "uri" }, "example.org", "fault.uri"],
    [{ type: "string", format: "date" }, "2026-02-28", null],
    [{ type: "string", format: "date" }, "2026-02-30", "fault.date"],
    [{ type: "string", format: "date-time" }, "2026-02-28T10:00", null],
    [{ type: "string", format: "date-time" }, "soon", "fault.dateTime"],
    [{ type: "integer" }, "1.5", "fault.whole"],
    [{ type: "integer" }, "12345678901234567890", "fault.whole"],
    [{ type: "number" }, "1.5", null],
    [{ type: "number" }, "one", "fault.number"],
    [{ type: "number", minimum: 2 }, "1", "fault.less"],
    [{ type: "number", maximum: 2 }, "3", "fault.more"],
    [{ type: "boolean" }, false, null],
    [{ type: "string", enum: ["a"] }, "", "fault.needed"],
    [{ type: "array", items: { enum: ["a", "b"] }, minItems: 1 }, [], "fault.fewItems"],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a", "b"], "fault.manyItems"],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a"], null],
  ])("%j with %j: %s", (property, value, fault) => {
    const fields = read({ it: property }, ["it"]);
    expect(faultsOf(fields, { it: value }).get("it")?.key ?? null).toBe(fault);
  });

  it("that are not required may stay empty, and are left out", () => {
    const fields = read({
      a: { type: "string", minLength: 3 },
      b: { type: "number" },
      c: { type: "array", items: { enum: ["x"] }, minItems: 1 },
      d: { enum: ["x"], type: "string" },
    });
    const values = firstValues(fields);
    expect(faultsOf(fields, values).size).toBe(0);
    expect(contentOf(fields, values)).toBe("{}");
  });

  it("keep a moment through the clock of this computer", () => {
    const fields = read({ at: { type: "string", format: "date-time", default: "2026-11-21T07:30:00Z" } });
    expect(contentOf(fields, firstValues(fields))).toBe('{"at":"2026-11-21T07:30:00.000Z"}');
  });

  it("show what cannot be seen", () => {
    expect(seen("a\u202eb\u200bc\n\u{e0041}")).toBe("a⟦U+202E⟧b⟦U+200B⟧c\n⟦U+E0041⟧");
  });
});

describe("an address", () => {
  it.each([
    ["https://example.org/a?b#c", "example.org", ["https://", "example.org", "/a?b#c"], ""],
    ["https://example.org:8443/a", "example.org", ["https://", "example.org", ":8443/a"], ""],
    [
      "https://bank.example@evil.example/bank.example",
      "evil.example",
      ["https://bank.example@", "evil.example", "/bank.example"],
      "user",
    ],
    ["https://a@b@evil.example", "evil.example", ["https://a@b@", "evil.example", ""], "user"],
    ["https://xn--pypal-4ve.example/", "xn--pypal-4ve.example", ["https://", "xn--pypal-4ve.example", "/"], "foreign"],
    ["https://pаypal.example/", "xn--pypal-4ve.example", ["https://", "pаypal.example", "/"], "foreign"],
    ["http://example.org", "example.org", ["http://", "example.org", ""], "open"],
    ["http://127.0.0.1:8/x", "127.0.0.1", ["http://", "127.0.0.1", ":8/x"], ""],
    ["http://[::1]:8/x", "[::1]", ["http://", "[::1]", ":8/x"], ""],
  ])("%j", (url, host, [before, name, after], hint) => {
    const taken = splitUrl(url, host);
    expect([taken.before, taken.host, taken.after]).toEqual([before, name, after]);
    expect(taken.before + taken.host + taken.after).toBe(url);
    expect([taken.hasUser && "user", taken.isForeign && "foreign", taken.isOpen && "open"].filter(Boolean).join()).toBe(
      hint,
    );
  });
});
