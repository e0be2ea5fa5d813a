import { Button, Group, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings } from "../generated/types";
import { useMessages } from "../messages";
import { userErrorLine } from "../messages/userError";
import { toUserError } from "../platform";
import { currentSettings } from "./currentSettings";
import settingsSectionStyles from "./SettingsSection.module.css";

/** Further names under which clients reach the gateway. Which ones are names is said by the core. */
export function AllowedHosts() {
  const kept = useCoreQuery("settings.show", {}).data;
  return kept ? <HostsForm kept={kept} /> : null;
}

function HostsForm({ kept }: { kept: Settings }) {
  const t = useMessages();
  const set = useAction("settings.set");
  const { refetch } = useCoreQuery("settings.show", {});
  const [edited, setEdited] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const before = kept.allowedHosts.join(", ");
  const text = edited ?? before;
  const hosts = text.split(/[\s,]+/).filter((host) => host !== "");
  const save = async () => {
    try {
      await set.request({ ...currentSettings(kept), allowedHosts: hosts });
    } catch (thrown) {
      setError(userErrorLine(t, toUserError(thrown)));
      return;
    }
    notifications.show({ message: t("settings.saved"), color: "teal", autoClose: 2000 });
    await refetch();
    // What was typed meanwhile stays.
    setEdited((now) => (now === text ? null : now));
  };
  return (
    <form
      noValidate
      className={settingsSectionStyles.stack}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextInput
        label={t("settings.hosts")}
        description={t("settings.hostsText")}
        placeholder="host.docker.internal, devbox:8080"
        spellCheck={false}
        value={text}
        error={error}
        onChange={(event) => {
          setEdited(event.currentTarget.value);
          setError(null);
        }}
      />
      {hosts.join(", ") !== before && (
        <Group justify="flex-end">
          <Button type="submit" loading={set.busy}>
            {t("settings.save")}
          </Button>
        </Group>
      )}
    </form>
  );
}
