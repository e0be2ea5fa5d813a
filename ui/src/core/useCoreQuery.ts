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
  /** The reply is to the arguments before; the one to these arguments is awaited. */
  outdated: boolean;
  /** Resolves when the reply is there. */
  refetch: () => Promise<void>;
};

/**
 * Runs a read-only command, and again whenever an event makes the reply stale. `read` is another way
 * to the same reply. A fresh reply is forgotten when nothing shows it any more: for what changes without an event, such as
 * files of others.
 */
export function useCoreQuery<Name extends keyof Commands>(
  name: Name,
  args: Commands[Name]["args"],
  read?: () => Promise<Commands[Name]["reply"]>,
  options: { fresh?: boolean; /** Read again after so many milliseconds. */ every?: number } = {},
): CoreQuery<Commands[Name]["reply"]> {
  const { platform } = useCore();
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery<Commands[Name]["reply"], unknown>({
    queryKey: [name, args],
    queryFn: async () => (read ? read() : platform.command(name, args)),
    placeholderData: keepPreviousData,
    ...(options.fresh === true ? { gcTime: 0 } : {}),
    ...(options.every === undefined ? {} : { refetchInterval: options.every }),
  });
  return {
    data,
    error: error === null ? null : toUserError(error),
    loading: isPending,
    outdated: isPlaceholderData,
    refetch: async () => {
      await refetch();
    },
  };
}
