import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";

import type { Commands } from "../generated/commands";
import type { UserError } from "../generated/types";
import { toUserError, type Platform } from "../platform";
import { useCore } from "./CoreProvider";
import { stopRun } from "./stopRun";

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
  /** Stops the request that is under way, also in the core; null where there is none, or it can't be stopped. */
  stop: (() => void) | null;
};

/**
 * Runs a read-only command, and again whenever an event makes the reply stale. `read` is another way
 * to the same reply. A command that takes the name of a run is stopped in the core when nobody wants its reply any more. A fresh reply is forgotten when nothing shows it any more: for what changes without an event, such as
 * files of others.
 */
export function useCoreQuery<Name extends keyof Commands>(
  name: Name,
  args: Commands[Name]["args"],
  read?: () => Promise<Commands[Name]["reply"]>,
  options: { fresh?: boolean; /** Read again after so many milliseconds. */ every?: number } = {},
): CoreQuery<Commands[Name]["reply"]> {
  const { platform } = useCore();
  const client = useQueryClient();
  const { data, error, isPending, isPlaceholderData, isFetching, refetch } = useQuery<Commands[Name]["reply"], unknown>(
    {
      queryKey: [name, args],
      queryFn: async (context) => {
        if (read) return read();
        // Only what reads the signal is ended with it.
        return "run" in args ? stoppable(platform, name, args, context.signal) : platform.command(name, args);
      },
      placeholderData: keepPreviousData,
      ...(options.fresh === true ? { gcTime: 0 } : {}),
      ...(options.every === undefined ? {} : { refetchInterval: options.every }),
    },
  );
  return {
    data,
    error: error === null ? null : toUserError(error),
    loading: isPending,
    outdated: isPlaceholderData,
    refetch: async () => {
      await refetch();
    },
    stop:
      isFetching && "run" in args
        ? () => {
            void client.cancelQueries({ queryKey: [name, args], exact: true });
          }
        : null,
  };
}

/** Runs a command under a name, and stops it in the core at the signal. */
async function stoppable<Name extends keyof Commands>(
  platform: Platform,
  name: Name,
  args: Commands[Name]["args"],
  signal: AbortSignal,
): Promise<Commands[Name]["reply"]> {
  const run = crypto.randomUUID();
  const stop = () => {
    stopRun(platform, run);
  };
  signal.addEventListener("abort", stop);
  try {
    return await platform.command(name, { ...args, run });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
