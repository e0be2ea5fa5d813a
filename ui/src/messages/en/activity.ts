/** Activity: calls and events. */
export const activity = {
  "activity.title": "Activity",
} as const;
