import type { Language, Messages } from ".";

const loaders: Record<Language, () => Promise<Messages>> = {
  en: async () => (await import("./en")).en,
  "zh-CN": async () => (await import("./zhCn")).zhCn,
};

const loaded = new Map<Language, Messages>();

/** Loads the messages of the main window in a language. A window has one language at a time, so the others cost nothing. */
export async function loadCatalogue(language: Language): Promise<Messages> {
  const messages = loaded.get(language) ?? (await loaders[language]());
  loaded.set(language, messages);
  return messages;
}

/** The messages of a language that was loaded before. */
export function loadedCatalogue(language: Language): Messages | undefined {
  return loaded.get(language);
}
