import { useEffect, useRef, useState } from "react";

import type { UserError } from "../../generated/types";
import { asProblem } from "../../platform/userError";

/** What was asked for: the argument without its mask, or why it cannot be had. */
export type Revealed = { text: string } | { problem: UserError };

type All = ReadonlyMap<number, Revealed>;
const none: All = new Map();

/**
 * Arguments that the user asked to see without their masks. They are kept here and nowhere else, and forgotten
 * when the page goes out of sight or `veil` changes.
 */
export function useRevealed(veil: number, reveal: (argument: number) => Promise<string>) {
  const [all, setAll] = useState(none);
  const [before, setBefore] = useState(veil);
  /** An answer from before the last veil is not shown. */
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
  const put = (argument: number, one: Revealed) => {
    setAll((known) => new Map(known).set(argument, one));
  };
  const show = (argument: number) => {
    const then = times.current;
    reveal(argument).then(
      (text) => {
        if (times.current === then) put(argument, { text });
      },
      (thrown: unknown) => {
        if (times.current === then) put(argument, { problem: asProblem(thrown) });
      },
    );
  };
  const hide = (argument: number) => {
    setAll((known) => new Map([...known].filter(([one]) => one !== argument)));
  };
  return { all, show, hide };
}
