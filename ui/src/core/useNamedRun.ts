import { useCallback } from "react";

import { useCore } from "./CoreProvider";
import { stopRun } from "./stopRun";
import { useRunNames, type RunNames } from "./useRunNames";

/** Work of the core under a name, by which it can be stopped. It is stopped when the component goes. */
export function useNamedRun(): RunNames {
  const { platform } = useCore();
  return useRunNames(
    useCallback(
      (run: string) => {
        stopRun(platform, run);
      },
      [platform],
    ),
  );
}
