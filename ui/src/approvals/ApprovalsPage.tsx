import { useMessages } from "../messages";
import { Page } from "../parts/Page";

/** The questions that wait. */
export function ApprovalsPage() {
  const t = useMessages();
  return <Page title={t("ask.title")}>{null}</Page>;
}
