import { describe, expect, it } from "vitest";

import type { ProviderView } from "../generated/types";
import { presets } from "./presets";
import {
  changeOf,
  draftOf,
  firstPreset,
  formFrom,
  formOf,
  losesKey,
  newKey,
  withoutKey,
  type ProviderForm,
} from "./providerForm";

const saved: ProviderView = {
  id: "p",
  name: "OpenAI",
  api: "open_ai_responses",
  baseUrl: "https://api.openai.com/v1",
  defaultModel: null,
  hasKey: true,
};
const withKey = (text: string): Partial<ProviderForm> => ({ key: { is: "entered", text } });

describe("the form of a provider", () => {
  it("is filled in by each preset, with a name that is free", () => {
    for (const preset of presets) {
      const { name, api, baseUrl } = draftOf(formFrom(preset, ["openai", "OpenAI 2"]));
      expect({ name, api, baseUrl }).toEqual({
        name: preset.id === "openai" ? "OpenAI 3" : preset.name,
        api: preset.api,
        baseUrl: preset.baseUrl,
      });
    }
  });

  it("is kept without a key that was entered, and with what becomes of the stored one", () => {
    const form = formOf(saved);
    expect(JSON.stringify(withoutKey({ ...form, ...withKey("sk-1") }))).not.toContain("sk-1");
    expect(newKey(withoutKey({ ...form, ...withKey("sk-1") }))).toBeNull();
    const deleting: ProviderForm = { ...form, key: { is: "deleted" } };
    expect(withoutKey(deleting)).toBe(deleting);
  });

  it("begins with the first provider that is not there yet", () => {
    expect(firstPreset([]).id).toBe("openai");
    expect(firstPreset([saved]).id).toBe("anthropic");
    expect(firstPreset(presets.slice(0, -1).map(({ baseUrl }) => ({ ...saved, baseUrl }))).id).toBe("other");
  });

  it.each<[string, Partial<ProviderForm>, string | null]>([
    ["left as it is", {}, null],
    ["deleted", { key: { is: "deleted" } }, ""],
    ["replaced", withKey(" sk-1 "), "sk-1"],
    ["not replaced yet", withKey(" "), null],
  ])("tells when the stored key is %s", (_, part, key) => {
    expect(newKey({ ...formOf(saved), ...part })).toBe(key);
  });

  it.each<[Partial<ProviderForm>, string]>([
    [{}, "none"],
    [{ name: "OpenAI " }, "none"],
    [{ name: "Work" }, "rest"],
    [{ defaultModel: "gpt-x" }, "rest"],
    [{ api: "open_ai_chat" }, "connection"],
    [{ baseUrl: "https://other.example" }, "connection"],
    [withKey("sk-1"), "connection"],
  ])("tells what %j changes", (part, change) => {
    expect(changeOf({ ...formOf(saved), ...part }, saved)).toBe(change);
  });

  it("tells when a key will be lost because it belongs to another address", () => {
    const moved = { ...formOf(saved), baseUrl: "https://other.example" };
    expect(losesKey(moved, saved)).toBe(true);
    expect(losesKey({ ...moved, key: { is: "entered", text: "sk-2" } }, saved)).toBe(false);
    expect(losesKey(formOf(saved), saved)).toBe(false);
  });
});
