import type { Names } from "../ask/rules";
import { useTimes } from "../messages";
import { useReading } from "./useReading";

/** Names of servers and clients; the id of one that is gone. */
export function useNames(): Names {
  const { full } = useTimes();
  const servers = useReading("servers.list", {}).data ?? [];
  const clients = useReading("clients.list", {}).data ?? [];
  return {
    server: (id) => servers.find(({ config }) => config.id === id)?.config.name ?? id,
    client: (id) => clients.find((one) => one.id === id)?.name ?? id,
    time: full,
  };
}
