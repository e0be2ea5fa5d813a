import { useCallback, useRef, useState } from "react";

import { showError } from "./core/useAction";
import { toUserError, type Platform, type Preferences } from "./platform";

/** The preferences, and a way to change them that holds at once. What can't be stored is shown as an error and taken back. */
export function usePreferences(
  platform: Platform,
  initial: Preferences,
): [Preferences, (preferences: Preferences) => void] {
  const [preferences, setPreferences] = useState(initial);
  const stored = useRef({ preferences: initial, order: 0 });
  const count = useRef(0);
  const change = useCallback(
    (wanted: Preferences) => {
      count.current += 1;
      const order = count.current;
      setPreferences(wanted);
      platform.setPreferences(wanted).then(
        () => {
          const before = stored.current;
          if (order < before.order) return;
          stored.current = { preferences: wanted, order };
          // A later change that failed first went back to what was stored then.
          setPreferences((now) => (now === before.preferences ? wanted : now));
        },
        (thrown: unknown) => {
          showError(toUserError(thrown));
          // A later change holds this one too, and goes back by itself if it fails.
          setPreferences((now) => (now === wanted ? stored.current.preferences : now));
        },
      );
    },
    [platform],
  );
  return [preferences, change];
}
