import { describe, expect, it } from "vitest";

import type { RegistryInput, RegistryOption } from "../generated/types";
import { firstOption, initialValues, missingInputs, withoutSecrets } from "./registryForm";

const input = (id: string, more: Partial<RegistryInput> = {}): RegistryInput => ({
  id,
  description: null,
  required: false,
  secret: false,
  plainSecret: false,
  format: "string",
  default: null,
  placeholder: null,
  choices: [],
  repeated: false,
  ...more,
});

const option = (id: string, unusable: RegistryOption["unusable"] = null): RegistryOption => ({
  id,
  kind: "npm",
  label: id,
  inputs: [],
  unusable,
  fileSha256: null,
});

describe("what is entered for an entry of the registry", () => {
  const inputs = [
    input("CITY", { required: true }),
    input("UNITS", { default: "celsius" }),
    input("token", { secret: true, required: true }),
    input("more", { secret: true }),
    input("base", { plainSecret: true }),
  ];

  it("begins with the defaults", () => {
    expect(initialValues(inputs)).toEqual({ CITY: "", UNITS: "celsius", token: "", more: "", base: "" });
  });

  it("names what is missing", () => {
    expect(missingInputs(inputs, { CITY: "", token: "" })).toEqual(["CITY", "token"]);
    expect(missingInputs(inputs, { CITY: "Bonn", token: "s3" })).toEqual([]);
  });

  it("keeps secrets in the window", () => {
    const told = withoutSecrets(inputs, { CITY: "Bonn", UNITS: "", token: "s3cr3t", base: "b" });
    expect(told).toEqual({ values: { CITY: "Bonn", UNITS: "", base: "b" }, secrets: ["token"] });
    expect(JSON.stringify(told)).not.toContain("s3cr3t");
  });
});

describe("the first option of an entry", () => {
  const why = { key: "error.registry.unusable.kind", params: {} };
  it.each([
    [[], undefined],
    [[option("a"), option("b")], "a"],
    [[option("a", why), option("b")], "b"],
    [[option("a", why)], "a"],
  ])("of %j", (options, expected) => {
    expect(firstOption(options)?.id).toBe(expected);
  });
});
