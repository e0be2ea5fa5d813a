import { Button, Group, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings } from "../generated/types";
import { useMessages } from "../messages";
import { SettingsSection } from "./SettingsSection";
import { currentSettings } from "./currentSettings";
import settingsSectionStyles from "./SettingsSection.module.css";

/** Where the document is that says to authorization servers who Gatehouse is. */
export function ClientDocumentSection() {
  const t = useMessages();
  const kept = useCoreQuery("settings.show", {}).data;
  if (!kept) return null;
  return (
    <SettingsSection title={t("settings.document")} text={t("settings.documentText")}>
      <Address kept={kept} />
    </SettingsSection>
  );
}

function Address({ kept }: { kept: Settings }) {
  const t = useMessages();
  const set = useAction("settings.set");
  const { refetch } = useCoreQuery("settings.show", {});
  const [edited, setEdited] = useState<string | null>(null);
  const [tried, setTried] = useState(false);
  const address = edited ?? kept.clientDocument ?? "";
  const wanted = address.trim();
  const isRight = wanted === "" || /^https:\/\/[^\s/?#]+\/[^\s#]+$/i.test(wanted);
  const save = async () => {
    setTried(true);
    if (!isRight) return;
    if (await set.run({ ...currentSettings(kept), clientDocument: wanted })) {
      notifications.show({ message: t("settings.saved"), color: "teal", autoClose: 2000 });
      await refetch();
      // What was typed meanwhile stays.
      setEdited((now) => (now === address ? null : now));
    }
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
        aria-label={t("settings.documentAddress")}
        placeholder="https://"
        spellCheck={false}
        value={address}
        error={tried && !isRight ? t("settings.badDocument") : null}
        onChange={(event) => {
          setEdited(event.currentTarget.value);
        }}
      />
      {wanted !== (kept.clientDocument ?? "") && (
        <Group justify="flex-end">
          <Button type="submit" loading={set.busy}>
            {t("settings.save")}
          </Button>
        </Group>
      )}
    </form>
  );
}
