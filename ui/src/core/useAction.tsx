import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";

import type { Commands } from "../generated/commands";
import type { UserError } from "../generated/types";
import { ProblemText } from "../components/ErrorDetails";
import { asProblem } from "../platform";
import { useCore } from "./CoreProvider";

export type Action<Name extends keyof Commands> = {
  /** Runs the command; answers whether it succeeded. A failure is shown as a notification. */
  run: (args: Commands[Name]["args"]) => Promise<boolean>;
  /** Runs the command and hands on its reply or the `Problem`, which the caller has to show. */
  ask: (args: Commands[Name]["args"]) => Promise<Commands[Name]["reply"]>;
  busy: boolean;
};

/** A command that does something. */
export function useAction<Name extends keyof Commands>(name: Name): Action<Name> {
  const { platform } = useCore();
  const { mutateAsync, isPending } = useMutation<Commands[Name]["reply"], unknown, Commands[Name]["args"]>({
    mutationFn: async (args) => platform.command(name, args),
  });
  return {
    ask: mutateAsync,
    run: async (args) => {
      try {
        await mutateAsync(args);
        return true;
      } catch (thrown) {
        showProblem(asProblem(thrown));
        return false;
      }
    },
    busy: isPending,
  };
}

/** Says an error in a corner of the window; the same error twice stands there once. */
export function showProblem(problem: UserError) {
  const id = `${problem.code} ${problem.message}`;
  notifications.hide(id);
  notifications.show({
    id,
    color: "red",
    title: problem.message,
    message: <ProblemText problem={problem} />,
    autoClose: 10_000,
  });
}
