import { describe, expect, it } from "vitest";

import { contentOf, readElicitation, type FormValue } from "./elicitationSchema";
import { formErrors } from "./validator";

const json = (properties: unknown, required: string[] = []) => JSON.stringify({ type: "object", properties, required });

/** The form of a schema, which has to have one. */
function read(properties: Record<string, unknown>, required: string[] = []) {
  const form = readElicitation(json(properties, required));
  if (!form) throw new Error("no form");
  return form;
}

/** The first error of one field with a value. */
function errorOf(property: Record<string, unknown>, value: unknown, required = true): string | null {
  const { schema } = read({ it: property }, required ? ["it"] : []);
  return formErrors(schema, value === undefined ? {} : { it: value })[0]?.key ?? null;
}

describe("the form of an elicitation", () => {
  it("has its fields in order, with titles, options, defaults and what is required", () => {
    const form = read(
      {
        name: { type: "string", title: "Your name", description: "As on the card", minLength: 2 },
        count: { type: "integer", default: 3 },
        sure: { type: "boolean", default: true },
        news: { type: "boolean" },
        size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"], default: "m" },
        kind: {
          type: "string",
          oneOf: [{ const: "a", title: "First" }, { const: "b" }, { const: "a", title: "Twice" }],
        },
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
    const small = [
      { const: "s", title: "Small" },
      { const: "m", title: "Medium" },
    ];
    const first = [
      { const: "a", title: "First" },
      { const: "b", title: "b" },
    ];
    const letters = [
      { const: "x", title: "X" },
      { const: "y", title: "Y" },
    ];
    expect(Object.entries(form.schema.properties ?? {})).toEqual([
      ["name", { type: "string", title: "Your name", description: "As on the card", minLength: 2 }],
      ["count", { type: "integer", title: "count" }],
      ["sure", { type: "boolean", title: "sure" }],
      ["news", { type: "boolean", title: "news" }],
      ["size", { type: "string", title: "size", oneOf: small }],
      ["kind", { type: "string", title: "kind", oneOf: first }],
      ["many", { type: "array", title: "many", uniqueItems: true, items: { type: "string", oneOf: letters } }],
    ]);
    expect(form.schema.required).toEqual(["name"]);
    expect(form.value).toEqual({ count: 3, sure: true, news: false, size: "m", many: ["y"] });
    expect(contentOf(form, form.value)).toBe('{"count":3,"sure":true,"news":false,"size":"m","many":["y"]}');
  });

  it("is none where something that is required cannot be given", () => {
    expect(readElicitation(json({ deep: { type: "object" } }, ["deep"]))).toBeNull();
    expect(readElicitation(json({ none: { type: "string", enum: [] } }, ["none"]))).toBeNull();
    expect(readElicitation(json({ a: { type: "string" } }, ["b"]))).toBeNull();
    for (const name of ["__proto__", "constructor"])
      expect(readElicitation(json(JSON.parse(`{"${name}":{"type":"string"}}`), [name]))).toBeNull();
    expect(readElicitation(json({ deep: { type: "object" } }))?.schema.properties).toEqual({});
    for (const broken of ["", "[]", "{}", '{"properties":3}']) expect(readElicitation(broken)).toBeNull();
  });

  it("has nothing of a schema beyond its own flat fields", () => {
    const form = read({
      a: { type: "string", pattern: "^(a+)+$", $ref: "#/x", allOf: [{ minLength: 5 }], if: {}, format: "regex" },
    });
    expect(form.schema).toEqual({ type: "object", required: [], properties: { a: { type: "string", title: "a" } } });
    expect(form.patterns).toEqual({ a: "^(a+)+$" });
  });

  it.each<[Record<string, unknown>, unknown, string | null]>([
    [{ type: "string" }, undefined, "fault.needed"],
    [{ type: "string" }, "x", null],
    [{ type: "string", minLength: 2 }, "x", "fault.short"],
    [{ type: "string", maxLength: 2 }, "👍👍", null],
    [{ type: "string", maxLength: 2 }, "abc", "fault.long"],
    [{ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(40)}!`, null],
    [{ type: "string", format: "email" }, "ana@example.org", null],
    [{ type: "string", format: "email" }, "ana", "fault.email"],
    [{ type: "string", format: "uri" }, "https://example.org", null],
    [{ type: "string", format: "uri" }, "mailto:ana@example.org", null],
    [{ type: "string", format: "uri" }, "example.org", "fault.uri"],
    [{ type: "string", format: "date" }, "2026-02-28", null],
    [{ type: "string", format: "date" }, "2026-02-30", "fault.date"],
    [{ type: "string", format: "date-time" }, "2026-02-28T10:00:00.000Z", null],
    [{ type: "string", format: "date-time" }, "soon", "fault.dateTime"],
    [{ type: "integer" }, 1.5, "fault.whole"],
    [{ type: "integer" }, Number("12345678901234567890"), "fault.unsafe"],
    [{ type: "number" }, 1.5, null],
    [{ type: "number" }, "one", "fault.number"],
    [{ type: "number", minimum: 2 }, 1, "fault.less"],
    [{ type: "number", maximum: 2 }, 3, "fault.more"],
    [{ type: "boolean" }, false, null],
    [{ type: "string", enum: ["a"] }, undefined, "fault.needed"],
    [{ type: "string", enum: ["a"] }, "b", "fault.choice"],
    [{ type: "array", items: { enum: ["a", "b"] }, minItems: 1 }, [], "fault.fewItems"],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a", "b"], "fault.manyItems"],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a"], null],
  ])("%j with %j: %s", (property, value, error) => {
    expect(errorOf(property, value)).toBe(error);
  });

  it("may stay empty where nothing is required, and leaves that out", () => {
    const form = read({
      a: { type: "string", minLength: 3, default: "" },
      b: { type: "number" },
      c: { type: "array", items: { enum: ["x"] }, minItems: 1 },
      d: { enum: ["x"], type: "string" },
    });
    expect(formErrors(form.schema, form.value)).toEqual([]);
    expect(contentOf(form, form.value)).toBe("{}");
  });

  it.each<[FormValue, string]>([
    [{ b: 1, a: "x" }, '{"a":"x","b":1}'],
    [{ a: undefined, b: 2, gone: true }, '{"b":2}'],
  ])("sends %j as %s", (value, content) => {
    expect(contentOf(read({ a: { type: "string" }, b: { type: "number" } }), value)).toBe(content);
  });

  it("begins with a moment only where its default is one", () => {
    const at = (first: string) => read({ at: { type: "string", format: "date-time", default: first } }).value;
    expect(at("2026-11-21T07:30:00Z")).toEqual({ at: "2026-11-21T07:30:00.000Z" });
    expect(at("soon")).toEqual({});
  });
});
