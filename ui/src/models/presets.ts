// The providers that Gatehouse knows the address of. The only place in the pages with such addresses.

import type { ProviderApi, ProviderDraft } from "../generated/types";

export type PresetId = "openai" | "anthropic" | "gemini" | "ollama" | "lm_studio" | "other";

/** What a new provider is filled in with. */
export type Preset = Pick<ProviderDraft, "name" | "api" | "baseUrl"> & {
  id: PresetId;
  /** Whether it needs a key; programs on this computer usually don't. */
  key: "needed" | "optional";
};

export const presets: readonly Preset[] = [
  { id: "openai", name: "OpenAI", api: "open_ai_responses", baseUrl: "https://api.openai.com/v1", key: "needed" },
  { id: "anthropic", name: "Anthropic", api: "anthropic", baseUrl: "https://api.anthropic.com", key: "needed" },
  {
    id: "gemini",
    name: "Gemini",
    api: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com",
    key: "needed",
  },
  { id: "ollama", name: "Ollama", api: "open_ai_chat", baseUrl: "http://127.0.0.1:11434/v1", key: "optional" },
  { id: "lm_studio", name: "LM Studio", api: "open_ai_chat", baseUrl: "http://127.0.0.1:1234/v1", key: "optional" },
  { id: "other", name: "", api: "open_ai_chat", baseUrl: "", key: "optional" },
];

/** Every wire format, in the order of the presets. */
export const apis: readonly ProviderApi[] = ["open_ai_chat", "open_ai_responses", "anthropic", "gemini"];
