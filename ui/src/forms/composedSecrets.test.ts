import { describe, expect, it } from "vitest";

import { composedSecrets } from "./composedSecrets";

describe("composedSecrets", () => {
  it.each([
    ["an input alone", [{ input: "key" }], "k3y"],
    ["texts around it", [{ text: "Bearer " }, { input: "key" }, { text: ";" }], "Bearer k3y;"],
    ["several inputs", [{ input: "key" }, { text: ":" }, { input: "other" }], "k3y:0ther"],
    ["an input that was left empty", [{ input: "key" }, { input: "none" }], "k3y"],
  ])("joins %s", (_, parts, value) => {
    const fields = [{ field: "env/AUTH", parts }];
    expect(composedSecrets(fields, { key: "k3y", other: "0ther" })).toEqual([{ field: "env/AUTH", value }]);
  });
});
