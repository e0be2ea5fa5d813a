import type { ConversationSettings, ConversationSummary, ModelChoice, ModelsView } from "../generated/types";
import type { Translate } from "../messages";

/** A model by its provider's name and its id. */
export function modelName(t: Translate, choice: ModelChoice | null, models: ModelsView | undefined): string {
  if (choice === null) return t("chat.noModel");
  const provider = models?.providers.find(({ id }) => id === choice.provider);
  return provider || !models ? choice.model : t("chat.providerGone", { model: choice.model });
}

/** Whether a model is chosen, and its provider is still there. */
export function isAvailable(choice: ModelChoice | null, models: ModelsView): boolean {
  return choice !== null && models.providers.some(({ id }) => id === choice.provider);
}

/** What a new conversation begins with: the model that was used last, else the first that a provider has as its default. */
export function initialSettings(models: ModelsView, latest: readonly ConversationSummary[]): ConversationSettings {
  const used = latest.flatMap(({ model }) => (model && isAvailable(model, models) ? [model] : []));
  const defaults = models.providers.flatMap(({ id, defaultModel }) =>
    defaultModel === null ? [] : [{ provider: id, model: defaultModel }],
  );
  return {
    title: null,
    model: used[0] ?? defaults[0] ?? null,
    servers: null,
    toolSearch: false,
    instructions: null,
  };
}
