import { describe, expect, it } from "vitest";

import { utf8Size, isJson, formatJson, mediaKind } from "./contentText";

describe("content text", () => {
  it.each([
    ["{}", null, true],
    [" [1]", null, true],
    ["{broken", null, false],
    ["{broken", "application/json", true],
    ["x", "application/ld+json; charset=utf-8", true],
    ["3", null, false],
    ["words", "text/plain", false],
  ])("treats %j of type %j as JSON: %s", (text, mimeType, is) => {
    expect(isJson(text, mimeType)).toBe(is);
  });

  it("is indented only without loss", () => {
    expect(formatJson('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(formatJson('{"a":12345678901234567890}')).toBe('{"a":12345678901234567890}');
    expect(formatJson("{broken")).toBe("{broken");
  });

  it("reports its size in bytes", () => {
    expect(utf8Size("aä👍")).toBe(7);
  });
});

describe("mediaKind", () => {
  it.each([
    ["image/png", "image"],
    ["image/svg+xml", "image"],
    ["Audio/wav", "audio"],
    ["video/mp4", null],
    ["image/png,<x>", null],
    ["image/png;base64,AAAA", null],
    ["text/html", null],
  ])("%j: %j", (mimeType, kind) => {
    expect(mediaKind(mimeType)).toBe(kind);
  });
});
