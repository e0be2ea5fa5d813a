import { useState } from "react";

import type { CoreConnection } from "./core/connectCore";
import { CoreProvider } from "./core/CoreProvider";
import { AppShell } from "./app-shell/AppShell";
import { MainApprovalModels } from "./approvals/MainApprovalModels";
import type { Platform, Preferences } from "./platform";
import { ThemeProvider } from "./theme/ThemeProvider";

/** The main window, over a connection that listens already. */
export function App({ connection, initial }: { connection: CoreConnection; initial: Preferences }) {
  const [preferences, change] = usePreferences(connection.core.platform, initial);
  return (
    <ThemeProvider preferences={preferences}>
      <CoreProvider connection={connection}>
        <MainApprovalModels>
          <AppShell preferences={preferences} onPreferences={change} />
        </MainApprovalModels>
      </CoreProvider>
    </ThemeProvider>
  );
}

/** The preferences, and a way to change them that holds at once and is kept when it can be. */
function usePreferences(platform: Platform, initial: Preferences): [Preferences, (preferences: Preferences) => void] {
  const [preferences, setPreferences] = useState(initial);
  const change = (wanted: Preferences) => {
    setPreferences(wanted);
    platform.setPreferences(wanted).catch(() => {
      // It holds until the window is closed.
    });
  };
  return [preferences, change];
}
