import { Button, Group } from "@mantine/core";
import { useEffect, useState } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import { useCore } from "../core/CoreProvider";
import { showError } from "../core/useAction";
import { useMessages, useSizes } from "../messages";
import { toUserError, type UpdateStatus } from "../platform";
import { SettingsSection } from "./SettingsSection";

/** How often the course of a download is read, in milliseconds. */
const POLL_MS = 500;

const isRunning = ({ state }: UpdateStatus) => state === "checking" || state === "downloading";

/** Updates of Gatehouse: nothing happens before the user says so. */
export function UpdatesSection() {
  const t = useMessages();
  const { platform } = useCore();
  const [status, setStatus] = useState<UpdateStatus | null>(null);
  // Whether this page began what runs, and so hears of its end.
  const [isOwn, setIsOwn] = useState(false);
  const isBusy = status === null || isRunning(status);
  useEffect(() => {
    if (!isBusy) return;
    let gone = false;
    const read = () => {
      platform.updateStatus().then(
        (now) => {
          if (!gone && (!isOwn || isRunning(now))) setStatus(now);
        },
        () => {
          // It is read again.
        },
      );
    };
    read();
    const timer = setInterval(read, POLL_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [platform, isBusy, isOwn]);
  const begin = (now: UpdateStatus, work: Promise<UpdateStatus>) => {
    setStatus(now);
    setIsOwn(true);
    work
      .then(setStatus, (thrown: unknown) => {
        showError(toUserError(thrown));
      })
      .finally(() => {
        setIsOwn(false);
      });
  };
  if (status === null) return null;
  const check = () => {
    begin({ state: "checking" }, platform.checkUpdate());
  };
  return (
    <SettingsSection title={t("settings.updates")}>
      <div role="status">
        <UpdateText status={status} />
      </div>
      {status.state === "failed" && <ErrorAlert error={status.error} />}
      <Group gap="xs">
        {status.state === "available" && (
          <Button
            size="xs"
            onClick={() => {
              begin(
                { state: "downloading", version: status.version, received: 0, total: null },
                platform.installUpdate(),
              );
            }}
          >
            {t("settings.installUpdate", { version: status.version })}
          </Button>
        )}
        {(status.state === "idle" || status.state === "up_to_date" || status.state === "failed") && (
          <Button size="xs" variant="default" onClick={check}>
            {t("settings.checkUpdate")}
          </Button>
        )}
        {isBusy && (
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              platform.cancelUpdate().catch((thrown: unknown) => {
                showError(toUserError(thrown));
              });
            }}
          >
            {t("appShell.cancel")}
          </Button>
        )}
      </Group>
    </SettingsSection>
  );
}

function UpdateText({ status }: { status: UpdateStatus }) {
  const t = useMessages();
  const size = useSizes();
  switch (status.state) {
    case "unavailable":
      return <p className="dim">{t("settings.updatesElsewhere")}</p>;
    case "idle":
      return <p className="dim">{t("settings.updatesText")}</p>;
    case "checking":
      return <p>{t("settings.updateChecking")}</p>;
    case "up_to_date":
      return <p>{t("settings.updateNone")}</p>;
    case "available":
      return <p>{t("settings.updateAvailable", { version: status.version })}</p>;
    case "installed":
      return <p>{t("settings.updateInstalled", { version: status.version })}</p>;
    case "downloading":
      return (
        <>
          <p>{t("settings.updateDownloading", { version: status.version, received: size(status.received) })}</p>
          {status.total !== null && (
            <progress
              value={status.received}
              max={Math.max(1, status.total)}
              aria-label={t("settings.updateProgress")}
            />
          )}
        </>
      );
    case "failed":
      return null;
  }
}
