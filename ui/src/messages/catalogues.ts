import type { Language, Messages } from ".";
import { en } from "./en";
import { zhCn } from "./zhCn";

/** Every message of the main window in every language. Pages load one language alone: `loadCatalogue.ts`. */
export const catalogues: Record<Language, Messages> = { en, "zh-CN": zhCn };
