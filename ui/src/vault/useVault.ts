import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useCore } from "../core/CoreProvider";
import { readAgain } from "../core/readAgain";
import type { Vault } from "../platform";

export type VaultState = {
  vault: Vault | undefined;
  loading: boolean;
  /** Everything is read again: what is on the page is of another core. */
  refetch: () => Promise<void>;
};

/** Where secrets are kept. Read again when the core restarts. */
export function useVault(): VaultState {
  const { platform } = useCore();
  const client = useQueryClient();
  const { data, isPending } = useQuery({ queryKey: ["vault"], queryFn: async () => platform.vault() });
  return { vault: data, loading: isPending, refetch: async () => readAgain(client) };
}
