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
  const { refetch } = useCoreQuery("settings.show", {});
  const [edited, setEdited] = useState<string | null>(null);
  const address = edited ?? kept.registry;
  const save = async () => {
    // The core says which addresses may be used; an empty one is the official registry's.
    if (await set.run({ ...currentSettings(kept), registry: address.trim() })) {
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
        aria-label={t("settings.registryAddress")}
        placeholder={t("settings.registryOfficial")}
        spellCheck={false}
        value={address}
        onChange={(event) => {
          setEdited(event.currentTarget.value);
        }}
      />
      {address.trim() !== kept.registry && (
        <Group justify="flex-end">
          <Button type="submit" loading={set.busy}>
            {t("settings.save")}
          </Button>
        </Group>
      )}
    </form>
  );
}
