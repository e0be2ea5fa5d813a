import { describe, expect, it } from "vitest";

import table from "../../../crates/mcp-wire/tests/uri_templates.json";
import { expandTemplate, isInCatalog, matchesTemplate } from "./uriTemplate";

describe("a URI template", () => {
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
  ])("expands %j to %j", (template, uri) => {
    expect(expandTemplate(template, values)).toBe(uri);
  });

  it("replaces text that cannot be encoded", () => {
    expect(expandTemplate("{a}{b}", { a: "'(*)!'", b: "\ud800" })).toBe("%27%28%2A%29%21%27%EF%BF%BD");
  });

  it.each(table)("$template matches $uri: $fits", ({ template, uri, fits }) => {
    expect(matchesTemplate(template, uri)).toBe(fits);
  });

  it("matches many parts and a long URI in linear time", () => {
    expect(matchesTemplate(`${"{+a}".repeat(60)}b`, "a".repeat(8 * 1024))).toBe(false);
  });

  it.each([
    ["fixture://note", true],
    ["fixture://notes/7", true],
    ["fixture://notes", false],
    ["other://note", false],
    ["fixtureX//note", false],
  ])("in a catalog covers %j: %s", (uri, offered) => {
    const resource = { uri: "fixture://note", title: "", description: null, mimeType: null, size: null };
    const template = {
      uriTemplate: "fixture://notes/{id}",
      variables: ["id"],
      title: "",
      description: null,
      mimeType: null,
    };
    expect(isInCatalog({ resources: [resource], templates: [template] }, uri)).toBe(offered);
  });
});
