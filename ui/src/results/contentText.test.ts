import { describe, expect, it } from "vitest";

import { bytesOf, isJson, pretty, shownAs } from "./contentText";

describe("a text", () => {
  it.each([
    ["{}", null, true],
    [" [1]", null, true],
    ["{broken", null, false],
    ["{broken", "application/json", true],
    ["x", "application/ld+json; charset=utf-8", true],
    ["3", null, false],
    ["words", "text/plain", false],
  ])("%j of type %j is JSON: %s", (text, mimeType, is) => {
    expect(isJson(text, mimeType)).toBe(is);
  });

  it("is indented where that loses nothing", () => {
    expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(pretty('{"a":12345678901234567890}')).toBe('{"a":12345678901234567890}');
    expect(pretty("{broken")).toBe("{broken");
  });

  it("has its size in bytes", () => {
    expect(bytesOf("aä👍")).toBe(7);
  });
});

describe("what is shown of a media type", () => {
  it.each([
    ["image/png", "image"],
    ["image/svg+xml", "image"],
    ["Audio/wav", "audio"],
    ["video/mp4", null],
    ["image/png,<x>", null],
    ["image/png;base64,AAAA", null],
    ["text/html", null],
  ])("%j: %j", (mimeType, kind) => {
    expect(shownAs(mimeType)).toBe(kind);
  });
});
