import type { ask as en } from "../en/ask";

export const ask: Record<keyof typeof en, string> = {
  "ask.title": "审批",
};
