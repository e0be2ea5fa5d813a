import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { showError, useAction } from "../core/useAction";
import type { UserError, ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { hostOf } from "./status";

export type SignInActions = {
  /** Opens the browser. */
  begin: () => void;
  cancel: () => void;
  out: () => void;
  /** It begins, and nothing is known yet. */
  busy: boolean;
  /** Whether the sign-in was touched here, so that the keyboard goes on with it. */
  touched: boolean;
  /** Where the user signs in, if it was begun here. */
  address: string | null;
  /** Why the last attempt came to nothing. */
  error: UserError | null;
};

/** The sign-in actions of a server. */
export function useSignIn({ config: { id, name }, status, signIn }: ServerView): SignInActions {
  const t = useMessages();
  const begin = useAction("servers.signIn");
  const cancel = useAction("servers.cancelSignIn");
  const out = useAction("servers.signOut");
  const [touched, setTouched] = useState(false);
  const [address, setAddress] = useState<string | null>(null);
  /** An attempt that did not even begin. */
  const [refused, setRefused] = useState<UserError | null>(null);
  // What is said of an attempt goes with the next one, wherever that was begun.
  if (refused !== null && signIn?.is !== "out") setRefused(null);
  const known = signIn?.is === "out" ? (signIn.problem ?? refused) : null;
  const isOff = status.state === "disabled" || status.state === "stopped";
  return {
    begin: () => {
      setTouched(true);
      setAddress(null);
      setRefused(null);
      begin.request({ server: id, open: true }).then(
        (begun) => {
          setAddress(begun.address);
        },
        (thrown: unknown) => {
          setRefused(toUserError(thrown));
        },
      );
    },
    cancel: () => {
      setTouched(true);
      void cancel.run({ server: id });
    },
    out: () => {
      setTouched(true);
      const host = signIn?.is === "in" ? hostOf(signIn.issuer) : name;
      out.request({ server: id, run: crypto.randomUUID() }).then(
        ({ revoked }) => {
          const message = t(revoked ? "servers.signIn.outDone" : "servers.signIn.outHere", { name, host });
          notifications.show({ message, color: "teal", autoClose: 4000 });
        },
        (thrown: unknown) => {
          showError(toUserError(thrown));
        },
      );
    },
    busy: begin.busy,
    touched,
    address,
    // Without a way to register, the state itself says why.
    error: isOff || status.state === "needs_client_registration" ? null : known,
  };
}
