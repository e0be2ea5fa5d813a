import { Notifications } from "@mantine/notifications";
import { useEffect, useState } from "react";

import { CoreProvider } from "./core/CoreProvider";
import { AppShell } from "./app-shell/AppShell";
import { defaultPreferences, type Platform, type Preferences } from "./platform";
import { ThemeProvider } from "./theme/ThemeProvider";

/** The main window. */
export function App({ platform }: { platform: Platform }) {
  const [preferences, change] = usePreferences(platform);
  return (
    <ThemeProvider preferences={preferences}>
      <Notifications position="bottom-right" limit={4} />
      <CoreProvider platform={platform}>
        <AppShell preferences={preferences} onPreferences={change} />
      </CoreProvider>
    </ThemeProvider>
  );
}

/** The preferences, and a way to change them that holds at once and is kept when it can be. */
function usePreferences(platform: Platform): [Preferences, (preferences: Preferences) => void] {
  const [preferences, setPreferences] = useState(defaultPreferences);
  useEffect(() => {
    let gone = false;
    platform.preferences().then(
      (kept) => {
        if (!gone) setPreferences(kept);
      },
      () => {
        // The defaults stand: how a window looks is worth no error message.
      },
    );
    return () => {
      gone = true;
    };
  }, [platform]);
  const change = (wanted: Preferences) => {
    setPreferences(wanted);
    platform.setPreferences(wanted).catch(() => {
      // It holds until the window is closed.
    });
  };
  return [preferences, change];
}
