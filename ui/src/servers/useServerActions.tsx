import { useAction } from "../core/useAction";
import { useRemove } from "../core/useRemove";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { useSignIn, type SignInActions } from "./useSignIn";

export type ServerActions = {
  start: () => void;
  stop: () => void;
  toggle: (on: boolean) => void;
  reconnect: () => void;
  duplicate: () => void;
  remove: (then?: () => void) => void;
  signIn: SignInActions;
};

/** The actions of one server. */
export function useServerActions(view: ServerView, taken: readonly string[]): ServerActions {
  const t = useMessages();
  const { id, name } = view.config;
  const signIn = useSignIn(view);
  const start = useAction("servers.start");
  const stop = useAction("servers.stop");
  const reconnect = useAction("servers.reconnect");
  const duplicate = useAction("servers.duplicate");
  const remove = useRemove("servers.remove");
  return {
    start: () => void start.run({ server: id }),
    stop: () => void stop.run({ server: id, disable: false }),
    toggle: (on) => void (on ? start.run({ server: id }) : stop.run({ server: id, disable: true })),
    reconnect: () => void reconnect.run({ server: id }),
    duplicate: () => {
      const used = new Set(taken.map((other) => other.toLowerCase()));
      let copy = t("servers.copyName", { name });
      for (let at = 2; used.has(copy.toLowerCase()); at += 1) copy = `${t("servers.copyName", { name })} ${String(at)}`;
      void duplicate.run({ server: id, name: copy });
    },
    remove: (then) => {
      void remove.run({ server: id, undoable: true }, t("appShell.removed", { name })).then((done) => {
        if (done) then?.();
      });
    },
    signIn,
  };
}
