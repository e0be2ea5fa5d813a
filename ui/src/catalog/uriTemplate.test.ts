import { describe, expect, it } from "vitest";

import table from "../../../crates/mcp-wire/tests/uri_templates.json";
import { expand, isOffered, matches } from "./uriTemplate";

describe("a template", () => {
  const values = { name: "a b/c", path: "x/y z?", empty: "", q: "1&2", word: "%41" };

  it.each([
    ["file:///{name}", "file:///a%20b%2Fc"],
    ["file:///{+path}", "file:///x/y%20z?"],
    ["a{#path}", "a#x/y%20z?"],
    ["a{/name,q}", "a/a%20b%2Fc/1%262"],
    ["a{?name,q}", "a?name=a%20b%2Fc&q=1%262"],
    ["a?x=1{&q}", "a?x=1&q=1%262"],
    ["{name,q}", "a%20b%2Fc,1%262"],
    ["a{.q}", "a.1%262"],
    ["a{;q}", "a;q=1%262"],
    ["{name:3}", "a%20b"],
    ["{q*}", "1%262"],
    ["{word}", "%2541"],
    ["{+word}", "%41"],
    ["a{?empty}b{none}", "ab"],
    ["no variables", "no variables"],
    ["{", "{"],
  ])("%j is %j", (template, uri) => {
    expect(expand(template, values)).toBe(uri);
  });

  it("takes what encodes in no way as it can be encoded", () => {
    expect(expand("{a}{b}", { a: "'(*)!'", b: "\ud800" })).toBe("%27%28%2A%29%21%27%EF%BF%BD");
  });

  it.each(table)("$template fits $uri: $fits", ({ template, uri, fits }) => {
    expect(matches(template, uri)).toBe(fits);
  });

  it("takes no time over many parts and a long address", () => {
    expect(matches(`${"{+a}".repeat(60)}b`, "a".repeat(8 * 1024))).toBe(false);
  });

  it.each([
    ["fixture://note", true],
    ["fixture://notes/7", true],
    ["fixture://notes", false],
    ["other://note", false],
    ["fixtureX//note", false],
  ])("of a server offers %j: %s", (uri, offered) => {
    const resource = { uri: "fixture://note", title: "", description: null, mimeType: null, size: null };
    const template = { uriTemplate: "fixture://notes/{id}", variables: ["id"], title: "", description: null, mimeType: null };
    expect(isOffered({ resources: [resource], templates: [template] }, uri)).toBe(offered);
  });
});
