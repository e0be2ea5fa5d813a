import type { Language, Messages } from "../messages";
import { ask as askEn } from "../messages/en/ask";
import { ask as askZh } from "../messages/zh-CN/ask";

/** The messages that questions need; the window with the questions loads no others. */
const own = { en: { "app.name": "Gatehouse", ...askEn }, "zh-CN": { "app.name": "Gatehouse", ...askZh } };

export const catalogues = own as Record<Language, Partial<Messages>> as Record<Language, Messages>;
