import { useMessages } from "../messages";
import { useCoreQuery } from "./useCoreQuery";

/** Names of servers and clients by their ids. */
export type Names = { server: (id: string) => string; client: (id: string) => string };

/** The client id of calls that the user makes in the windows. */
export const OWN_CLIENT = "gatehouse";

/** Names of servers and clients; the id of one that is gone. */
export function useNames(): Names {
  const t = useMessages();
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  return {
    server: (id) => servers.find(({ config }) => config.id === id)?.config.name ?? id,
    client: (id) => (id === OWN_CLIENT ? t("app.name") : clients.find((one) => one.id === id)?.name) ?? id,
  };
}
