import { TextInput } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings } from "../generated/types";
import { useMessages } from "../messages";
import { SettingsForm } from "./SettingsForm";
import { SettingsSection } from "./SettingsSection";
import { currentSettings } from "./currentSettings";
import { useSettingText } from "./useSettingText";

/** Where servers are looked for. */
export function RegistrySection() {
  const t = useMessages();
  const kept = useCoreQuery("settings.show", {}).data;
  if (!kept) return null;
  return (
    <SettingsSection title={t("settings.registry")} text={t("settings.registryText")}>
      <RegistryAddress kept={kept} />
    </SettingsSection>
  );
}

function RegistryAddress({ kept }: { kept: Settings }) {
  const t = useMessages();
  const set = useAction("settings.set");
  const { text: address, setText, finishSaving } = useSettingText(kept.registry);
  const save = async () => {
    // The core says which addresses may be used; an empty one is the official registry's.
    if (await set.run({ ...currentSettings(kept), registry: address.trim() })) await finishSaving();
  };
  return (
    <SettingsForm layout="stack" isChanged={address.trim() !== kept.registry} busy={set.busy} onSave={save}>
      <TextInput
        aria-label={t("settings.registryAddress")}
        placeholder={t("settings.registryOfficial")}
        spellCheck={false}
        value={address}
        onChange={(event) => {
          setText(event.currentTarget.value);
        }}
      />
    </SettingsForm>
  );
}
