import type { Translate } from ".";

/** How long something took. */
export function durationLabel(t: Translate, milliseconds: number): string {
  return milliseconds < 1000
    ? t("activity.took.ms", { count: milliseconds })
    : t("activity.took.s", { count: (milliseconds / 1000).toFixed(1) });
}
