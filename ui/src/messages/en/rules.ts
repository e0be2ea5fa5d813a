import texts from "../../../../locales/en/rules.json";

/** Rules, choices and conditions: the words for texts that the core makes, which gatehousectl shares. */
export const rules = texts;
