import { useCallback, useEffect, useRef } from "react";

import { useCore } from "./CoreProvider";
import { stopRun } from "./stopRun";

/** Work of the core under a name, by which it can be stopped. It is stopped when the component goes. */
export function useNamedRun() {
  const { platform } = useCore();
  const current = useRef<string | null>(null);
  /** Stops what is under way; tells whether anything was. */
  const stop = useCallback((): boolean => {
    const name = current.current;
    current.current = null;
    if (name !== null) stopRun(platform, name);
    return name !== null;
  }, [platform]);
  useEffect(
    () => () => {
      stop();
    },
    [stop],
  );
  /** Does work under a new name. */
  const begin = useCallback(async <Reply>(work: (run: string) => Promise<Reply>): Promise<Reply> => {
    const name = crypto.randomUUID();
    current.current = name;
    try {
      return await work(name);
    } finally {
      if (current.current === name) current.current = null;
    }
  }, []);
  return { begin, stop };
}
