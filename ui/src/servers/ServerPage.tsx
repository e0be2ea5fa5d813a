import type { ServerTab } from "../frame/route";
import { useMessages } from "../messages";
import { Page } from "../parts/Page";

/** One server. */
export function ServerPage({ id, tab }: { id: string; tab: ServerTab }) {
  const t = useMessages();
  return <Page title={t("servers.title")}>{id + tab}</Page>;
}
