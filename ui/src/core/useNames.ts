import { useMessages, type Translate } from "../messages";
import { useCoreQuery } from "./useCoreQuery";

/** Names of servers and clients by their ids. */
export type Names = { server: (id: string) => string; client: (id: string) => string };

/** The client id of calls that the user makes in the windows. */
export const OWN_CLIENT = "gatehouse";

/** The client id of calls that models make in Chat. */
export const CHAT_CLIENT = "chat";

/** The client id of the practice request of the first steps. */
const PRACTICE_CLIENT = "practice";

/** The name of a client that is part of Gatehouse and in no list of clients; null for every other. */
function builtinClientName(t: Translate, id: string): string | null {
  switch (id) {
    case OWN_CLIENT:
      return t("app.name");
    case CHAT_CLIENT:
      return t("appShell.chat");
    case PRACTICE_CLIENT:
      return t("appShell.practice");
    default:
      return null;
  }
}

/** The name of the client of a recorded call: that of then, or one of Gatehouse's own in the reader's language. */
export function recordedClientName(
  t: Translate,
  { client, clientName }: { client: string; clientName: string },
): string {
  return builtinClientName(t, client) ?? clientName;
}

/** Names of servers and clients; the id of one that is gone. */
export function useNames(): Names {
  const t = useMessages();
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  return {
    server: (id) => servers.find(({ config }) => config.id === id)?.config.name ?? id,
    client: (id) => builtinClientName(t, id) ?? clients.find((one) => one.id === id)?.name ?? id,
  };
}
