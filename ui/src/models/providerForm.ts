// What is entered about a model provider.

import type { ProviderApi, ProviderDraft, ProviderView } from "../generated/types";
import { presets, type Preset, type PresetId } from "./presets";

export type ProviderForm = {
  /** What a new provider was filled in with; `null` for one that is there already. */
  preset: PresetId | null;
  name: string;
  api: ProviderApi;
  baseUrl: string;
  defaultModel: string;
  /** A key that is stored stays, is deleted, or another one is entered. */
  key: { is: "kept" } | { is: "deleted" } | { is: "entered"; text: string };
};

export const noKey: ProviderForm["key"] = { is: "entered", text: "" };

/** The form of a provider that is there. */
export function formOf({ name, api, baseUrl, defaultModel, hasKey }: ProviderView): ProviderForm {
  return { preset: null, name, api, baseUrl, defaultModel: defaultModel ?? "", key: hasKey ? { is: "kept" } : noKey };
}

/** The form of a new provider. A name that is taken gets a number. A key that was entered stays. */
export function formFrom({ id, name, api, baseUrl }: Preset, taken: readonly string[], key = noKey): ProviderForm {
  return { preset: id, name: freeName(name, taken), api, baseUrl, defaultModel: "", key };
}

/** The form without a key that was entered. */
export function withoutKey(form: ProviderForm): ProviderForm {
  return form.key.is === "entered" ? { ...form, key: noKey } : form;
}

/** The first preset whose address no provider has yet. */
export function firstPreset(providers: readonly ProviderView[]): Preset {
  const isFree = ({ baseUrl }: Preset) => !providers.some((provider) => provider.baseUrl === baseUrl);
  const [first] = presets.filter(isFree);
  if (!first) throw new Error("the preset without an address is always free");
  return first;
}

function freeName(name: string, taken: readonly string[]): string {
  if (name === "") return name;
  const isTaken = (wanted: string) => taken.some((other) => other.toLowerCase() === wanted.toLowerCase());
  for (let number = 1; ; number++) {
    const wanted = number === 1 ? name : `${name} ${String(number)}`;
    if (!isTaken(wanted)) return wanted;
  }
}

/** What the form says, as the core takes it. */
export function draftOf({ name, api, baseUrl, defaultModel }: ProviderForm): ProviderDraft {
  return {
    name: name.trim(),
    api,
    baseUrl: baseUrl.trim(),
    defaultModel: defaultModel.trim() === "" ? null : defaultModel.trim(),
  };
}

/** The new key as the core takes it: empty to delete it, `null` to leave it. */
export function newKey({ key }: ProviderForm): string | null {
  switch (key.is) {
    case "kept":
      return null;
    case "deleted":
      return "";
    case "entered":
      return key.text.trim() === "" ? null : key.text.trim();
  }
}

/** What the form changes of a provider: nothing, how it is reached, or only the rest. */
export function changeOf(form: ProviderForm, saved: ProviderView | null): "none" | "connection" | "rest" {
  const draft = draftOf(form);
  if (saved === null || newKey(form) !== null) return "connection";
  if (draft.api !== saved.api || draft.baseUrl !== saved.baseUrl) return "connection";
  return draft.name !== saved.name || draft.defaultModel !== saved.defaultModel ? "rest" : "none";
}

/** Whether the stored key will be deleted because it belongs to another address. */
export function losesKey(form: ProviderForm, saved: ProviderView | null): boolean {
  return saved?.hasKey === true && form.key.is === "kept" && form.baseUrl.trim() !== saved.baseUrl;
}
