import type { CoreConnection } from "./core/connectCore";
import { CoreProvider } from "./core/CoreProvider";
import { AppShell } from "./app-shell/AppShell";
import { MainApprovalModels } from "./approvals/MainApprovalModels";
import type { Preferences } from "./platform";
import { ThemeProvider } from "./theme/ThemeProvider";
import { usePreferences } from "./usePreferences";

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
