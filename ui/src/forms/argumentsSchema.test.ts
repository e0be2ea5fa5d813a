import { describe, expect, it } from "vitest";

import { argumentsSchema, withoutEmpty } from "./argumentsSchema";

describe("a schema for a form", () => {
  it.each(["", "[]", "true", '{"type":"string"}', "{"])("is none: %s", (text) => {
    expect(argumentsSchema(text)).toBeNull();
  });

  it("lets members be added where nothing is said of them", () => {
    expect(argumentsSchema("{}")).toEqual({ type: "object", additionalProperties: true });
    const closed = {
      type: "object",
      properties: { type: { type: "object", default: { type: "object" } }, a: { type: "object", properties: {} } },
    };
    expect(argumentsSchema(JSON.stringify(closed))).toEqual({
      type: "object",
      properties: {
        type: { type: "object", default: { type: "object" }, additionalProperties: true },
        a: { type: "object", properties: {} },
      },
    });
  });
});

describe("arguments from a form", () => {
  const schema = {
    properties: {
      where: { properties: { city: {}, deep: { properties: {} } }, required: [] },
      must: { type: "object" },
    },
    required: ["must"],
  };

  it.each([
    [{ where: {} }, {}],
    [{ where: { deep: {} } }, {}],
    [{ where: { city: "" } }, { where: { city: "" } }],
    [{ must: {} }, { must: {} }],
    [
      { other: { a: 1 }, list: [{}] },
      { other: { a: 1 }, list: [{}] },
    ],
    [{ a: undefined, b: null }, { b: null }],
    ["text", "text"],
  ])("%j without what is empty: %j", (value, left) => {
    expect(withoutEmpty(schema, value)).toEqual(left);
  });
});
