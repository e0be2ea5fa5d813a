import { useMessages } from "../messages";
import { Page } from "../parts/Page";

/** What happened. */
export function ActivityPage({ view }: { view: "calls" | "events" }) {
  const t = useMessages();
  return <Page title={t("activity.title")}>{view}</Page>;
}
