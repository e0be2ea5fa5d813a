import { keepPreviousData, useQuery } from "@tanstack/react-query";

import type { Commands } from "../generated/commands";
import type { UserError } from "../generated/types";
import { asProblem } from "../platform";
import { useCore } from "./CoreProvider";

/** What a command answered last; a failed reading keeps it and says what went wrong. */
export type Reading<Reply> = {
  data: Reply | undefined;
  problem: UserError | null;
  /** Nothing is known yet, and nothing went wrong yet. */
  loading: boolean;
  /** Ends when the answer is there. */
  readAgain: () => Promise<void>;
};

/**
 * Reads with a command that only looks, and again whenever an event made the answer old. `read` is another way
 * to the same answer.
 */
export function useReading<Name extends keyof Commands>(
  name: Name,
  args: Commands[Name]["args"],
  read?: () => Promise<Commands[Name]["reply"]>,
): Reading<Commands[Name]["reply"]> {
  const { platform } = useCore();
  const { data, error, isPending, refetch } = useQuery<Commands[Name]["reply"], unknown>({
    queryKey: [name, args],
    queryFn: async () => (read ? read() : platform.command(name, args)),
    placeholderData: keepPreviousData,
  });
  return {
    data,
    problem: error === null ? null : asProblem(error),
    loading: isPending,
    readAgain: async () => {
      await refetch();
    },
  };
}
