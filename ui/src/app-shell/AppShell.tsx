import { Button } from "@mantine/core";
import { IconAlertTriangle, IconPlayerPause } from "@tabler/icons-react";
import { Suspense, useEffect, useLayoutEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { undoLast } from "../core/pendingUndos";
import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { StatusReport } from "../generated/types";
import { useFirstRun } from "../first-run/useFirstRun";
import { useShortcuts } from "../keyboard/useShortcuts";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { countErrors, userErrorId, userErrorLine } from "../messages/userError";
import type { PreferencesProps } from "../theme/useAppearance";
import { useVault } from "../vault/useVault";
import { Notice } from "../components/Notice";
import { commandPalette } from "./paletteStore";
import {
  ActivityPage,
  ApprovalsPage,
  ChatPage,
  ClientsPage,
  FirstRunPage,
  MemoryNotice,
  PermissionsPage,
  OverviewPage,
  PlaygroundPage,
  prefetchPages,
  ServerPage,
  ServersPage,
  SettingsPage,
  ShellOverlays,
  UnlockScreen,
  WindowNotices,
} from "./lazyPages";
import { pages } from "./pages";
import { Sidebar } from "./Sidebar";
import { navigate, useRoute, type Route } from "../navigation/route";
import { TopBar } from "./TopBar";
import pageStyles from "../components/Page.module.css";
import styles from "./AppShell.module.css";

/** The main window: sidebar, top bar, notices, and the current page. */
export function AppShell(look: PreferencesProps) {
  const route = useRoute();
  const { platform } = useCore();
  const { data: report, error, loading, refetch } = useCoreQuery("status", {});
  const { vault, loading: vaultLoading, refetch: refetchAll } = useVault();
  const t = useMessages();

  const [painted, setPainted] = useState(false);
  const [showsShortcuts, setShowsShortcuts] = useState(false);
  useFirstRun(look.preferences, report?.clients);

  useShortcuts({
    page: ({ key }) => {
      const page = pages[Number(key) - 1];
      if (page) navigate(page.route);
    },
    undo: undoLast,
    newConversation: () => {
      navigate({ page: "chat" });
    },
    palette: commandPalette.open,
    help: () => {
      setShowsShortcuts(true);
    },
  });

  const locked = vault?.state === "locked";
  const known = report !== undefined || locked;
  // With the layout: effects run after the paint, which would be reported late.
  useLayoutEffect(() => {
    if (known) {
      // Two frames: the first one is about to be painted, the second one says that it was.
      requestAnimationFrame(() =>
        requestAnimationFrame(() => {
          void platform.painted().catch(ignored);
          prefetchPages();
        }),
      );
    }
  }, [known, platform]);

  // Whatever was painted: also where the core is slow or did not start.
  useEffect(() => {
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        setPainted(true);
      }),
    );
  }, []);

  const startAgain = () => {
    platform.startAgain().then(refetch, refetch);
  };

  const notices = painted && (
    <Suspense>
      <WindowNotices {...look} />
    </Suspense>
  );
  if (locked) {
    return (
      <>
        <Suspense fallback={<LoadingIndicator />}>
          <UnlockScreen vault={vault} onChange={refetchAll} />
        </Suspense>
        {notices}
      </>
    );
  }
  return (
    <div className={styles.shell}>
      <Sidebar route={route} waiting={report?.waiting ?? 0} />
      <TopBar report={report} />
      <main className={styles.main}>
        {error && !vaultLoading && (
          <div className={pageStyles.body}>
            <ErrorAlert error={error}>
              <Button variant="default" size="xs" onClick={startAgain}>
                {t("appShell.again")}
              </Button>
            </ErrorAlert>
          </div>
        )}
        {loading && <LoadingIndicator />}
        {report && !error && (
          <>
            <Notices report={report} />
            <Suspense fallback={<LoadingIndicator />}>
              <CurrentPage route={route} look={look} />
            </Suspense>
          </>
        )}
      </main>
      {painted && (
        <Suspense>
          <ShellOverlays report={report} showsShortcuts={showsShortcuts} onShortcuts={setShowsShortcuts} />
        </Suspense>
      )}
      {notices}
    </div>
  );
}

function CurrentPage({ route, look }: { route: Route; look: PreferencesProps }) {
  switch (route.page) {
    case "overview":
      return <OverviewPage />;
    case "servers":
      return <ServersPage />;
    case "server":
      return <ServerPage id={route.id} tab={route.tab} at={route.at} time={route.time} key={route.id} />;
    case "approvals":
      return <ApprovalsPage />;
    case "permissions":
      return <PermissionsPage />;
    case "activity":
      return <ActivityPage view={route.view} />;
    case "clients":
      return <ClientsPage />;
    case "playground":
      return <PlaygroundPage route={route} />;
    case "chat":
      return <ChatPage conversation={route.conversation ?? null} />;
    case "settings":
      return <SettingsPage {...look} at={route.at ?? null} />;
    case "welcome":
      return <FirstRunPage {...look} />;
  }
}

/** Notices about the whole app, shown on every page. */
function Notices({ report }: { report: StatusReport }) {
  const t = useMessages();
  const switchOn = useAction("servers.switchOn");
  return (
    <>
      {report.paused && <Notice icon={<IconPlayerPause size={18} aria-hidden />} text={t("appShell.paused")} />}
      {!report.switchedOn && (
        <Notice icon={<IconPlayerPause size={18} aria-hidden />} text={t("appShell.switchedOff")}>
          <Button size="xs" loading={switchOn.busy} onClick={() => void switchOn.run({})}>
            {t("appShell.switchOn")}
          </Button>
        </Notice>
      )}
      {report.secrets === "memory" && (
        <Suspense>
          <MemoryNotice />
        </Suspense>
      )}
      {countErrors(report.problems).map(({ error, count }) => {
        const title = userErrorLine(t, error);
        return (
          <Notice
            key={userErrorId(error)}
            icon={<IconAlertTriangle size={18} aria-hidden />}
            text={count > 1 ? t("appShell.repeated", { title, count }) : title}
          />
        );
      })}
    </>
  );
}

/** This is only a note: nobody is there to be told of a failure. */
function ignored() {
  return undefined;
}
