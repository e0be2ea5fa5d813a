import { keepPreviousData, useQuery } from "@tanstack/react-query";

import type { Commands } from "../generated/commands";
import type { UserError } from "../generated/types";
import { toUserError } from "../platform";
import { useCore } from "./CoreProvider";

/** The last reply of a command; a failed read keeps it and sets `error`. */
export type CoreQuery<Reply> = {
  data: Reply | undefined;
  error: UserError | null;
  /** There is neither a reply nor an error yet. */
  loading: boolean;
  /** Resolves when the reply is there. */
  refetch: () => Promise<void>;
};

/**
 * Runs a read-only command, and again whenever an event makes the reply stale. `read` is another way
 * to the same reply.
 */
export function useCoreQuery<Name extends keyof Commands>(
  name: Name,
  args: Commands[Name]["args"],
  read?: () => Promise<Commands[Name]["reply"]>,
): CoreQuery<Commands[Name]["reply"]> {
  const { platform } = useCore();
  const { data, error, isPending, refetch } = useQuery<Commands[Name]["reply"], unknown>({
    queryKey: [name, args],
    queryFn: async () => (read ? read() : platform.command(name, args)),
    placeholderData: keepPreviousData,
  });
  return {
    data,
    error: error === null ? null : toUserError(error),
    loading: isPending,
    refetch: async () => {
      await refetch();
    },
  };
}
