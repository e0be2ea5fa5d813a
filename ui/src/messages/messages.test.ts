import { describe, expect, it } from "vitest";

import { catalogues } from "./catalogues";
import { bestLanguage, fill } from "./index";

const places = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe("messages", () => {
  it.each(Object.entries(catalogues))("%s has every message with the same places", (_, catalogue) => {
    expect(Object.keys(catalogue).sort()).toEqual(Object.keys(catalogues.en).sort());
    for (const [key, text] of Object.entries(catalogues.en)) {
      const other = catalogue[key as keyof typeof catalogue];
      expect(other.trim(), key).not.toBe("");
      expect(places(other), key).toEqual(places(text));
    }
  });

  it.each([
    [["zh-Hans-CN", "en"], "zh-CN"],
    [["fr", "zh"], "zh-CN"],
    [["en-GB"], "en"],
    [["fr"], "en"],
    [[], "en"],
  ] as const)("takes the best language of %j", (wanted, best) => {
    expect(bestLanguage(wanted)).toBe(best);
  });

  it("fills places in and leaves unknown ones", () => {
    expect(fill("{a} of {b} {c}", { a: 1, b: "two" })).toBe("1 of two {c}");
  });
});
