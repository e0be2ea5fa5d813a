import { Button, Group, Modal, Text } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconAlertTriangle, IconPlayerPause } from "@tabler/icons-react";
import { Suspense, useEffect, useState, type ReactNode } from "react";

import { useCore } from "../core/CoreProvider";
import { useAction } from "../core/useAction";
import { useReading } from "../core/useCoreQuery";
import type { StatusReport } from "../generated/types";
import { useMessages } from "../messages";
import { ProblemAlert } from "../components/ErrorAlert";
import { Waiting } from "../components/LoadingIndicator";
import type { Preferences } from "../platform";
import { ServersPage } from "../servers/ServersPage";
import { MemoryNotice } from "../vault/MemoryNotice";
import { useVault } from "../vault/useVault";
import { Palette } from "./CommandPalette";
import { ActivityPage, ApprovalsPage, ClientsPage, PermissionsPage, prefetchPages, ServerPage, SettingsPage, Unlock } from "./lazyPages";
import { pages } from "./pages";
import { Rail } from "./Sidebar";
import { go, useRoute, type Route } from "./route";
import { TopBar } from "./TopBar";

export type LookProps = { preferences: Preferences; onPreferences: (preferences: Preferences) => void };

/** The main window: rail, top bar, what concerns everything, and the page. */
export function Frame(look: LookProps) {
  const route = useRoute();
  const { platform } = useCore();
  const { data: report, problem, loading, readAgain } = useReading("status", {});
  const { vault, loading: vaultLoading, readAgain: readAllAgain } = useVault();
  const t = useMessages();

  useHotkeys(
    pages.map(({ route: to }, index) => [
      `mod+${String(index + 1)}`,
      () => {
        go(to);
      },
    ]),
  );

  const locked = vault?.state === "locked";
  const known = report !== undefined || locked;
  useEffect(() => {
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

  const startAgain = () => {
    platform.startAgain().then(readAgain, readAgain);
  };

  if (locked) {
    return (
      <>
        <Suspense fallback={<Waiting />}>
          <Unlock vault={vault} onChange={readAllAgain} />
        </Suspense>
        <KeepsRunning {...look} />
      </>
    );
  }
  return (
    <div className="frame">
      <Rail route={route} waiting={report?.waiting ?? 0} />
      <TopBar report={report} />
      <main className="frame-main">
        {problem && !vaultLoading && (
          <div className="page-body">
            <ProblemAlert problem={problem}>
              <Button variant="default" size="xs" onClick={startAgain}>
                {t("frame.again")}
              </Button>
            </ProblemAlert>
          </div>
        )}
        {loading && <Waiting />}
        {report && !problem && (
          <>
            <Notices report={report} />
            <Suspense fallback={<Waiting />}>
              <PageOf route={route} look={look} />
            </Suspense>
          </>
        )}
      </main>
      <Palette paused={report?.paused ?? false} />
      <KeepsRunning {...look} />
    </div>
  );
}

function PageOf({ route, look }: { route: Route; look: LookProps }) {
  switch (route.page) {
    case "servers":
      return <ServersPage />;
    case "server":
      return <ServerPage id={route.id} tab={route.tab} at={route.at} key={route.id} />;
    case "approvals":
      return <ApprovalsPage />;
    case "permissions":
      return <PermissionsPage />;
    case "activity":
      return <ActivityPage view={route.view} />;
    case "clients":
      return <ClientsPage />;
    case "settings":
      return <SettingsPage {...look} />;
  }
}

/** What is wrong or stopped for everything, on every page. */
function Notices({ report }: { report: StatusReport }) {
  const t = useMessages();
  const resume = useAction("resume");
  const switchOn = useAction("servers.switchOn");
  return (
    <>
      {report.paused && (
        <Notice icon={<IconPlayerPause size={18} aria-hidden />} text={t("frame.paused")}>
          <Button size="xs" loading={resume.busy} onClick={() => void resume.run({})}>
            {t("frame.resume")}
          </Button>
        </Notice>
      )}
      {!report.switchedOn && (
        <Notice icon={<IconPlayerPause size={18} aria-hidden />} text={t("frame.switchedOff")}>
          <Button size="xs" loading={switchOn.busy} onClick={() => void switchOn.run({})}>
            {t("frame.switchOn")}
          </Button>
        </Notice>
      )}
      {report.secrets === "memory" && <MemoryNotice />}
      {report.problems.map((problem) => (
        <Notice
          key={`${problem.code} ${problem.message}`}
          icon={<IconAlertTriangle size={18} aria-hidden />}
          text={[problem.message, problem.cause, problem.hint].filter(Boolean).join(" ")}
        />
      ))}
    </>
  );
}

function Notice({ icon, text, children }: { icon: ReactNode; text: string; children?: ReactNode }) {
  return (
    <div className="frame-notice" role="status">
      {icon}
      <span className="frame-notice-text">{text}</span>
      {children}
    </div>
  );
}

/** Said once, when the window is closed for the first time. */
function KeepsRunning({ preferences, onPreferences }: LookProps) {
  const t = useMessages();
  const { platform } = useCore();
  const [asked, setAsked] = useState(false);
  useEffect(
    () =>
      platform.signals((signal) => {
        if (signal === "closing") setAsked(true);
        else if (signal.open === "approvals") go({ page: "approvals" });
        else if (signal.open === "settings") go({ page: "settings" });
        else go({ page: "servers" });
      }),
    [platform],
  );
  const close = () => {
    setAsked(false);
    onPreferences({ ...preferences, saidKeepsRunning: true });
    platform.hide().catch(ignored);
  };
  return (
    <Modal
      opened={asked}
      onClose={() => {
        setAsked(false);
      }}
      title={t("frame.stillRuns")}
      centered
    >
      <Text mb="lg">{t("frame.stillRunsText")}</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={() => void platform.quit().catch(ignored)}>
          {t("frame.quitInstead")}
        </Button>
        <Button onClick={close} data-autofocus>
          {t("frame.stillRunsOk")}
        </Button>
      </Group>
    </Modal>
  );
}

/** The window is on its way out, or this is only a note: nobody is there to be told of a failure. */
function ignored() {
  return undefined;
}
