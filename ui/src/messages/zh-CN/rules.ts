import texts from "../../../../locales/zh-CN/rules.json";
import type { rules as en } from "../en/rules";

export const rules: Record<keyof typeof en, string> = texts;
