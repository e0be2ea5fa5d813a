// Where packages come from, as a form holds it. Pure.

import type { PackageSource } from "../generated/types";

export type SourceForm = { from: PackageSource["from"]; url: string };

export function toSourceForm(source: PackageSource): SourceForm {
  return { from: source.from, url: source.from === "custom" ? source.url : "" };
}

/** The source; nothing where its address is none. */
export function toPackageSource({ from, url }: SourceForm): PackageSource | null {
  if (from !== "custom") return { from };
  const address = url.trim();
  return /^https?:\/\/[^\s/]\S*$/i.test(address) ? { from, url: address } : null;
}
