/** Settings. */
export const settings = {
  "settings.title": "Settings",
} as const;
