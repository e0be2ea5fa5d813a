import { expect, it } from "vitest";

import names from "./secret-names.json";
import { isSecretSetting } from "./secretNames";

it("recognises the same names as the core", () => {
  expect(names.secret.filter((name) => !isSecretSetting(name))).toEqual([]);
  expect(names.plain.filter((name) => isSecretSetting(name))).toEqual([]);
});
