import { useEffect, useRef, useState } from "react";

import type { UserError } from "../../generated/types";
import { toUserError } from "../../platform/userError";

/** The unmasked argument, or why it could not be read. */
export type RevealState = { text: string } | { error: UserError };

type All = ReadonlyMap<number, RevealState>;
const none: All = new Map();

/**
 * Arguments that the user revealed. They are kept only in this hook and dropped
 * when the page is hidden or `veil` changes.
 */
export function useRevealedArguments(veil: number, reveal: (argument: number) => Promise<string>) {
  const [all, setAll] = useState(none);
  const [before, setBefore] = useState(veil);
  /** Replies from before the last `veil` are discarded. */
  const times = useRef(0);
  if (before !== veil) {
    setBefore(veil);
    setAll(none);
  }
  useEffect(
    () => () => {
      times.current += 1;
    },
    [veil],
  );
  useEffect(() => {
    const hide = () => {
      if (document.visibilityState !== "hidden") return;
      times.current += 1;
      setAll(none);
    };
    document.addEventListener("visibilitychange", hide);
    return () => {
      document.removeEventListener("visibilitychange", hide);
    };
  }, []);
  const put = (argument: number, one: RevealState) => {
    setAll((known) => new Map(known).set(argument, one));
  };
  const show = (argument: number) => {
    const then = times.current;
    reveal(argument).then(
      (text) => {
        if (times.current === then) put(argument, { text });
      },
      (thrown: unknown) => {
        if (times.current === then) put(argument, { error: toUserError(thrown) });
      },
    );
  };
  const hide = (argument: number) => {
    setAll((known) => new Map([...known].filter(([one]) => one !== argument)));
  };
  return { all, show, hide };
}
