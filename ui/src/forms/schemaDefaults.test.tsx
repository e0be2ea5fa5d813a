import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import { ArgumentsForm } from "./ArgumentsForm";
import { argumentsSchema } from "./argumentsSchema";
import { withDefaults } from "./schemaDefaults";

/** What a form of this schema sends untouched. */
async function sent(schema: object): Promise<unknown> {
  const onSend = vi.fn();
  const read = argumentsSchema(JSON.stringify(schema));
  if (!read) throw new Error("no form");
  render(
    <MantineProvider>
      <SpeechContext value={{ language: "en", messages: catalogues.en }}>
        <ArgumentsForm
          id="f"
          schema={read}
          value={withDefaults(read) ?? {}}
          onChange={() => undefined}
          onSend={onSend}
        />
        <button type="submit" form="f" aria-label="Go" />
      </SpeechContext>
    </MantineProvider>,
  );
  fireEvent.click(screen.getByRole("button", { name: "Go" }));
  await waitFor(() => {
    expect(onSend).toHaveBeenCalled();
  });
  return onSend.mock.calls[0]?.[0];
}

const text = (value: string) => ({ type: "string", default: value });

describe("defaults", () => {
  it.each<[string, object, unknown]>([
    ["at the top", { type: "object", properties: { a: text("x") } }, { a: "x" }],
    [
      "in an object",
      {
        type: "object",
        properties: { where: { type: "object", properties: { city: text("Vienna"), zip: { type: "string" } } } },
      },
      { where: { city: "Vienna" } },
    ],
    [
      "in an object of an object",
      {
        type: "object",
        properties: {
          a: {
            type: "object",
            properties: { b: { type: "object", properties: { c: { type: "integer", default: 3 } } } },
          },
        },
      },
      { a: { b: { c: 3 } } },
    ],
    [
      "in the items that a list has to have",
      {
        type: "object",
        required: ["rows"],
        properties: {
          rows: {
            type: "array",
            minItems: 2,
            items: { type: "object", properties: { n: { type: "integer", default: 7 } } },
          },
        },
      },
      { rows: [{ n: 7 }, { n: 7 }] },
    ],
    [
      "in the items of a list's own default",
      {
        type: "object",
        properties: {
          rows: {
            type: "array",
            default: [{ m: 1 }],
            items: { type: "object", properties: { m: { type: "integer" }, n: { type: "integer", default: 7 } } },
          },
        },
      },
      { rows: [{ m: 1, n: 7 }] },
    ],
    [
      "behind a reference",
      {
        type: "object",
        properties: { it: { $ref: "#/$defs/it" } },
        $defs: { it: { type: "object", properties: { b: text("y") } } },
      },
      { it: { b: "y" } },
    ],
    [
      "false, 0 and an empty text",
      {
        type: "object",
        properties: {
          o: {
            type: "object",
            properties: { f: { type: "boolean", default: false }, z: { type: "integer", default: 0 }, e: text("") },
          },
        },
      },
      { o: { f: false, z: 0, e: "" } },
    ],
  ])("%s", async (_, schema, expected) => {
    expect(await sent(schema)).toEqual(expected);
  });
});

describe("a value with its defaults", () => {
  it.each<[string, unknown, unknown, unknown]>([
    [
      "keeps what is there",
      { properties: { a: text("x"), o: { properties: { b: text("y") } } } },
      { a: null, o: {} },
      { a: null, o: { b: "y" } },
    ],
    [
      "fills the items that are there",
      { properties: { l: { items: { properties: { n: { default: 1 } } } } } },
      { l: [{}, { n: 2 }, 3] },
      { l: [{ n: 1 }, { n: 2 }, 3] },
    ],
    [
      "knows items by their place",
      { prefixItems: [{ properties: { n: { default: 1 } } }], items: { properties: { n: { default: 2 } } } },
      [{}, {}],
      [{ n: 1 }, { n: 2 }],
    ],
    [
      "takes all of several parts",
      { allOf: [{ properties: { a: text("x") } }, { properties: { b: text("y") } }] },
      undefined,
      { a: "x", b: "y" },
    ],
    ["leaves out what has none", { properties: { o: { properties: { b: { type: "string" } } } } }, {}, {}],
    [
      "ends where a schema refers to itself",
      { properties: { n: { default: 1 }, next: { $ref: "#" } } },
      {},
      { n: 1, next: { n: 1 } },
    ],
    ["follows no reference to elsewhere", { properties: { n: { $ref: "https://example.org/s.json" } } }, {}, {}],
    ["follows no circle", { $ref: "#/a", a: { $ref: "#/a" } }, undefined, undefined],
    [
      "takes a member by any name",
      JSON.parse('{"properties":{"__proto__":{"default":1}}}'),
      {},
      JSON.parse('{"__proto__":1}'),
    ],
  ])("%s", (_, schema, value, expected) => {
    expect(withDefaults(schema, value)).toEqual(expected);
  });

  it("is no deeper where a schema holds itself", () => {
    const schema = {
      $ref: "#/$defs/node",
      $defs: { node: { properties: { n: { default: 1 }, next: { $ref: "#/$defs/node" } } } },
    };
    expect(withDefaults(schema)).toEqual({ n: 1 });
    expect(withDefaults(schema, { next: { next: {} } })).toEqual({ n: 1, next: { n: 1, next: { n: 1 } } });
  });
});
