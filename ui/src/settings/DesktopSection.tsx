import { Switch } from "@mantine/core";
import { useEffect, useState } from "react";

import { ErrorAlert } from "../components/ErrorAlert";
import { useCore } from "../core/CoreProvider";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { SettingsSection } from "./SettingsSection";

/** How Gatehouse starts. The switch shows what the system says, not what was chosen here. */
export function DesktopSection() {
  const t = useMessages();
  const { platform } = useCore();
  const [starts, setStarts] = useState<boolean | null>(null);
  const [error, setError] = useState<UserError | null>(null);
  useEffect(() => {
    let gone = false;
    const read = () => {
      platform.startsAtLogin().then(
        (now) => {
          if (!gone) setStarts(now);
        },
        (thrown: unknown) => {
          if (!gone) setError(toUserError(thrown));
        },
      );
    };
    read();
    // It may be changed in the system's settings meanwhile.
    window.addEventListener("focus", read);
    return () => {
      gone = true;
      window.removeEventListener("focus", read);
    };
  }, [platform]);
  const change = (wanted: boolean) => {
    setError(null);
    platform.setStartsAtLogin(wanted).then(setStarts, (thrown: unknown) => {
      setError(toUserError(thrown));
    });
  };
  return (
    <SettingsSection title={t("settings.desktop")}>
      <Switch
        label={t("settings.startsAtLogin")}
        description={t("settings.startsAtLoginText")}
        checked={starts ?? false}
        disabled={starts === null}
        onChange={(event) => {
          change(event.currentTarget.checked);
        }}
      />
      {error && <ErrorAlert error={error} />}
    </SettingsSection>
  );
}
