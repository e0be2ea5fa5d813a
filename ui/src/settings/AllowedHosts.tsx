import { TextInput } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings } from "../generated/types";
import { useMessages } from "../messages";
import { userErrorLine } from "../messages/userError";
import { toUserError } from "../platform";
import { SettingsForm } from "./SettingsForm";
import { currentSettings } from "./currentSettings";
import { useSettingText } from "./useSettingText";

/** Further names under which clients reach the gateway. Which ones are names is said by the core. */
export function AllowedHosts() {
  const kept = useCoreQuery("settings.show", {}).data;
  return kept ? <HostsForm kept={kept} /> : null;
}

function HostsForm({ kept }: { kept: Settings }) {
  const t = useMessages();
  const set = useAction("settings.set");
  const [error, setError] = useState<string | null>(null);
  const before = kept.allowedHosts.join(", ");
  const { text, setText, finishSaving } = useSettingText(before);
  const hosts = text.split(/[\s,]+/).filter((host) => host !== "");
  const save = async () => {
    try {
      await set.request({ ...currentSettings(kept), allowedHosts: hosts });
    } catch (thrown) {
      setError(userErrorLine(t, toUserError(thrown)));
      return;
    }
    await finishSaving();
  };
  return (
    <SettingsForm layout="stack" isChanged={hosts.join(", ") !== before} busy={set.busy} onSave={save}>
      <TextInput
        label={t("settings.hosts")}
        description={t("settings.hostsText")}
        placeholder="host.docker.internal, devbox:8080"
        spellCheck={false}
        value={text}
        error={error}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setError(null);
        }}
      />
    </SettingsForm>
  );
}
