import appEn from "../../../locales/en/app.json";
import askEn from "../../../locales/en/ask.json";
import formsEn from "../../../locales/en/forms.json";
import proposalsEn from "../../../locales/en/proposals.json";
import rulesEn from "../../../locales/en/rules.json";
import appZh from "../../../locales/zh-CN/app.json";
import askZh from "../../../locales/zh-CN/ask.json";
import formsZh from "../../../locales/zh-CN/forms.json";
import proposalsZh from "../../../locales/zh-CN/proposals.json";
import rulesZh from "../../../locales/zh-CN/rules.json";
import type { Language, Messages } from "../messages";
import { errorTextsEn } from "../messages/errorTextsEn";
import { errorTextsZh } from "../messages/errorTextsZh";

/**
 * The messages of the prompt window, which loads no others. The problems of settings (`problems.json`) are not among
 * them: only commands about servers answer them, and the prompt can run none of these.
 */
const own = {
  en: { ...appEn, ...askEn, ...errorTextsEn, ...formsEn, ...proposalsEn, ...rulesEn },
  "zh-CN": { ...appZh, ...askZh, ...errorTextsZh, ...formsZh, ...proposalsZh, ...rulesZh },
};

export const catalogues = own as Record<Language, Partial<Messages>> as Record<Language, Messages>;
