import type { settings as en } from "../en/settings";

export const settings: Record<keyof typeof en, string> = {
  "settings.title": "设置",
};
