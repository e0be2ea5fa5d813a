import type { activity as en } from "../en/activity";

export const activity: Record<keyof typeof en, string> = {
  "activity.title": "活动",
};
