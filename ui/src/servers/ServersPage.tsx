import { useMessages } from "../messages";
import { Page } from "../parts/Page";

/** All servers. */
export function ServersPage() {
  const t = useMessages();
  return <Page title={t("servers.title")}>{null}</Page>;
}
