import { describe, expect, it } from "vitest";

import type { PackageSource } from "../generated/types";
import { toSourceForm, toPackageSource } from "./packageSource";

describe("a package source", () => {
  it.each<PackageSource>([
    { from: "fastest" },
    { from: "usual" },
    { from: "custom", url: "https://mirror.example/npm/" },
  ])("round-trips %j", (source) => {
    expect(toPackageSource(toSourceForm(source))).toEqual(source);
  });

  it.each(["", "mirror.example", "ftp://mirror.example", "https://", "https://a b"])("rejects the URL %j", (url) => {
    expect(toPackageSource({ from: "custom", url })).toBeNull();
  });

  it("needs no URL unless it is custom", () => {
    expect(toPackageSource({ from: "fastest", url: "nonsense" })).toEqual({ from: "fastest" });
  });
});
