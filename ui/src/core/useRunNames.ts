import { useCallback, useEffect, useRef } from "react";

export type RunNames = {
  /** Does work under a new name. */
  begin: <Reply>(work: (run: string) => Promise<Reply>) => Promise<Reply>;
  /** Stops what is under way; tells whether anything was. */
  stop: () => boolean;
};

/** Work under a name, by which `stopRun` can stop it. It is stopped when the component goes. `stopRun` has to be stable. */
export function useRunNames(stopRun: (run: string) => void): RunNames {
  const current = useRef<string | null>(null);
  const stop = useCallback((): boolean => {
    const name = current.current;
    current.current = null;
    if (name !== null) stopRun(name);
    return name !== null;
  }, [stopRun]);
  useEffect(
    () => () => {
      stop();
    },
    [stop],
  );
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
