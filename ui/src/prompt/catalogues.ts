import type { Language, Messages } from "../messages";
import { ask as askEn } from "../messages/en/ask";
import { rules as rulesEn } from "../messages/en/rules";
import { ask as askZh } from "../messages/zh-CN/ask";
import { rules as rulesZh } from "../messages/zh-CN/rules";

/** The messages that questions need; the window with the questions loads no others. */
const own = {
  en: { "app.name": "Gatehouse", ...askEn, ...rulesEn },
  "zh-CN": { "app.name": "Gatehouse", ...askZh, ...rulesZh },
};

export const catalogues = own as Record<Language, Partial<Messages>> as Record<Language, Messages>;
