import { describe, expect, it } from "vitest";

import type { PackageSource } from "../generated/types";
import { formOf, sourceOf } from "./packageSource";

describe("a source of packages", () => {
  it.each<PackageSource>([{ from: "fastest" }, { from: "usual" }, { from: "custom", url: "https://mirror.example/npm/" }])("comes back as it was: %j", (source) => {
    expect(sourceOf(formOf(source))).toEqual(source);
  });

  it.each(["", "mirror.example", "ftp://mirror.example", "https://", "https://a b"])("has no address %j", (url) => {
    expect(sourceOf({ from: "custom", url })).toBeNull();
  });

  it("needs no address where it is chosen or measured", () => {
    expect(sourceOf({ from: "fastest", url: "nonsense" })).toEqual({ from: "fastest" });
  });
});
