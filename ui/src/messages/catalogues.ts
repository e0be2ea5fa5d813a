import type { Language, Messages } from ".";
import { en } from "./en";
import { zhCN } from "./zh-CN";

/** Every message in every language. */
export const catalogues: Record<Language, Messages> = { en, "zh-CN": zhCN };
