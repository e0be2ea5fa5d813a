import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";

import type { Commands } from "../generated/commands";
import type { UserError } from "../generated/types";
import { ErrorDetails, ErrorTitle } from "../components/ErrorDetails";
import { userErrorId } from "../messages/userError";
import { toUserError } from "../platform";
import { useCore } from "./CoreProvider";

export type Action<Name extends keyof Commands> = {
  /** Runs the command; resolves to whether it succeeded. A failure is shown as a notification, unless the user cancelled it. */
  run: (args: Commands[Name]["args"]) => Promise<boolean>;
  /** Runs the command and returns its reply or throws the `UserError`, which the caller has to show. */
  request: (args: Commands[Name]["args"]) => Promise<Commands[Name]["reply"]>;
  busy: boolean;
};

/** A command that changes something. */
export function useAction<Name extends keyof Commands>(name: Name): Action<Name> {
  const { platform } = useCore();
  const { mutateAsync, isPending } = useMutation<Commands[Name]["reply"], unknown, Commands[Name]["args"]>({
    mutationKey: [name],
    mutationFn: async (args) => platform.command(name, args),
  });
  return {
    request: mutateAsync,
    run: async (args) => {
      try {
        await mutateAsync(args);
        return true;
      } catch (thrown) {
        const error = toUserError(thrown);
        if (error.code !== "cancelled") showError(error);
        return false;
      }
    },
    busy: isPending,
  };
}

/** How often each error happened that is shown. */
const counts = new Map<string, number>();

/** Shows an error as a notification; the same error is shown once, with how often it happened. */
export function showError(error: UserError) {
  const id = userErrorId(error);
  const count = (counts.get(id) ?? 0) + 1;
  // This also ends the count.
  notifications.hide(id);
  counts.set(id, count);
  notifications.show({
    id,
    color: "red",
    title: <ErrorTitle error={error} count={count} />,
    message: <ErrorDetails error={error} />,
    autoClose: 10_000,
    onClose: () => counts.delete(id),
  });
}
