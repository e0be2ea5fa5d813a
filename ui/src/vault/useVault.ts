import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useCore } from "../core/CoreProvider";
import type { Vault } from "../platform";

export type VaultReading = {
  vault: Vault | undefined;
  loading: boolean;
  /** Everything is read again: what is on the page is of another core. */
  readAgain: () => Promise<void>;
};

/** Where secrets are kept. Read with everything else when the core begins anew. */
export function useVault(): VaultReading {
  const { platform } = useCore();
  const client = useQueryClient();
  const { data, isPending } = useQuery({ queryKey: ["vault"], queryFn: async () => platform.vault() });
  return { vault: data, loading: isPending, readAgain: async () => client.invalidateQueries() };
}
