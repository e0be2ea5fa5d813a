import { useMessages } from "../messages";
import { useReading } from "./useCoreQuery";

/** Names of servers and clients by their ids. */
export type Names = { server: (id: string) => string; client: (id: string) => string };

/** By this id the core names calls that the user makes in the windows. */
export const OWN = "gatehouse";

/** Names of servers and clients; the id of one that is gone. */
export function useNames(): Names {
  const t = useMessages();
  const servers = useReading("servers.list", {}).data ?? [];
  const clients = useReading("clients.list", {}).data ?? [];
  return {
    server: (id) => servers.find(({ config }) => config.id === id)?.config.name ?? id,
    client: (id) => (id === OWN ? t("app.name") : clients.find((one) => one.id === id)?.name) ?? id,
  };
}
