import { useMessages } from "../messages";
import { Page } from "../parts/Page";

/** The clients. */
export function ClientsPage() {
  const t = useMessages();
  return <Page title={t("clients.title")}>{null}</Page>;
}
