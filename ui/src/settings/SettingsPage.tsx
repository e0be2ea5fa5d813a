import type { LookProps } from "../frame/Frame";
import { useMessages } from "../messages";
import { Page } from "../parts/Page";

/** Settings. */
export function SettingsPage({ preferences }: LookProps) {
  const t = useMessages();
  return <Page title={t("settings.title")}>{preferences.theme}</Page>;
}
