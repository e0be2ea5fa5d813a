import { Button, Group } from "@mantine/core";
import { type ReactNode } from "react";

import { useMessages } from "../messages";
import settingsSectionStyles from "./SettingsSection.module.css";

type Props = {
  /** Whether the fields stand beside each other where there is room. */
  layout: "stack" | "fields";
  isChanged: boolean;
  canSave?: boolean;
  busy: boolean;
  onSave: () => Promise<void>;
  children: ReactNode;
};

/** Settings that are saved together. */
export function SettingsForm({ layout, isChanged, canSave = true, busy, onSave, children }: Props) {
  const t = useMessages();
  return (
    <form
      noValidate
      className={layout === "stack" ? settingsSectionStyles.stack : settingsSectionStyles.fields}
      onSubmit={(event) => {
        event.preventDefault();
        void onSave();
      }}
    >
      {children}
      {isChanged && (
        <Group justify="flex-end">
          <Button type="submit" disabled={!canSave} loading={busy}>
            {t("settings.save")}
          </Button>
        </Group>
      )}
    </form>
  );
}
