import { describe, expect, it } from "vitest";

import { fits, schemaErrors } from "./schemaErrors";

const said = (schema: object, value: unknown) =>
  schemaErrors(schema, value).map(({ path, key, values }) => [
    path.join("/"),
    key,
    values.count ?? values.rule ?? values.type ?? values.pattern ?? "",
  ]);

describe("arguments", () => {
  const person = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2 },
      age: { $ref: "#/$defs/age" },
      kind: { enum: ["a", "b"] },
      "odd/name": { type: "boolean" },
      list: { type: "array", items: { type: "object", required: ["x"], properties: { x: { type: "number" } } } },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
    },
    required: ["name"],
    additionalProperties: false,
    $defs: { age: { type: "integer", minimum: 18 } },
  };

  it.each<[unknown, (string | number)[][]]>([
    [{ name: "Ana" }, []],
    [undefined, [["name", "fault.needed", ""]]],
    [{ name: "A" }, [["name", "fault.short", 2]]],
    [{ name: "Ana", age: 7 }, [["age", "fault.less", 18]]],
    [{ name: "Ana", age: "x" }, [["age", "fault.whole", ""]]],
    [{ name: "Ana", kind: "c" }, [["kind", "fault.choice", ""]]],
    [{ name: "Ana", "odd/name": 1 }, [["odd/name", "fault.type", "boolean"]]],
    [{ name: "Ana", list: [{ x: 1 }, {}] }, [["list/1/x", "fault.needed", ""]]],
    [{ name: "Ana", either: true }, [["either", "fault.other", "anyOf"]]],
    [
      { name: "Ana", more: 1 },
      [
        ["", "fault.other", "additionalProperties"],
        ["more", "fault.other", "false"],
      ],
    ],
  ])("%j: %j", (value, faults) => {
    expect(said(person, value)).toEqual(faults);
    expect(fits(person, value)).toBe(faults.length === 0);
  });

  it("of a schema that points elsewhere are left to the server", () => {
    const elsewhere = { type: "object", properties: { a: { $ref: "https://example.org/schema" } } };
    expect(schemaErrors(elsewhere, { a: 1 })).toEqual([]);
    expect(fits(elsewhere, { a: 1 })).toBe(false);
  });

  it("are not held against a pattern that takes for ever", () => {
    for (const pattern of ["^(a+)+$", "^((a+))+$", "^(a|aa)*$", "^([a-z]+)*$"]) {
      expect(schemaErrors({ properties: { a: { type: "string", pattern } } }, { a: `${"a".repeat(60)}!` })).toEqual([]);
    }
    expect(said({ properties: { a: { pattern: "^(ab)+$" } } }, { a: "x" })).toEqual([
      ["a", "fault.pattern", "^(ab)+$"],
    ]);
  });

  it("leave a schema as it was", () => {
    const schema = Object.freeze({ type: "object" });
    expect(schemaErrors(schema, {})).toEqual([]);
    expect(Object.getOwnPropertyNames(schema)).toEqual(["type"]);
  });
});
