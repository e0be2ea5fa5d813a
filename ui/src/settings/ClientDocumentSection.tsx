import { TextInput } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings } from "../generated/types";
import { useMessages } from "../messages";
import { SettingsForm } from "./SettingsForm";
import { SettingsSection } from "./SettingsSection";
import { currentSettings } from "./currentSettings";
import { useSettingText } from "./useSettingText";

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
  const { text: address, setText, finishSaving } = useSettingText(kept.clientDocument ?? "");
  const [tried, setTried] = useState(false);
  const wanted = address.trim();
  const isRight = wanted === "" || /^https:\/\/[^\s/?#]+\/[^\s#]+$/i.test(wanted);
  const save = async () => {
    setTried(true);
    if (!isRight) return;
    if (await set.run({ ...currentSettings(kept), clientDocument: wanted })) await finishSaving();
  };
  return (
    <SettingsForm layout="stack" isChanged={wanted !== (kept.clientDocument ?? "")} busy={set.busy} onSave={save}>
      <TextInput
        aria-label={t("settings.documentAddress")}
        placeholder="https://"
        spellCheck={false}
        value={address}
        error={tried && !isRight ? t("settings.badDocument") : null}
        onChange={(event) => {
          setText(event.currentTarget.value);
        }}
      />
    </SettingsForm>
  );
}
