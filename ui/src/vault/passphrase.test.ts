import { describe, expect, it } from "vitest";

import { validatePassphrase, takeValues } from "./passphrase";

describe("a new passphrase", () => {
  it.each([
    ["1234567", "1234567", "short"],
    ["", "", "short"],
    // Characters, not units of sixteen bits.
    ["𝕒𝕓𝕔𝕕", "𝕒𝕓𝕔𝕕", "short"],
    ["correct horse", "correct horsf", "different"],
    ["12345678", "12345678", null],
    ["正确的马电池订书钉", "正确的马电池订书钉", null],
  ])("validates %j and %j: %j", (first, second, fault) => {
    expect(validatePassphrase(first, second)).toBe(fault);
  });
});

describe("passphrase fields", () => {
  it("are cleared when they are read", () => {
    const current = document.createElement("input");
    current.value = "correct horse";
    expect(takeValues({ current }, { current: null })).toEqual(["correct horse", ""]);
    expect(current.value).toBe("");
  });
});
