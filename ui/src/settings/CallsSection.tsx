import { NumberInput, Radio, Stack } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings, ToolNaming } from "../generated/types";
import { useMessages } from "../messages";
import { SettingsForm } from "./SettingsForm";
import { SettingsSection } from "./SettingsSection";
import { currentSettings } from "./currentSettings";

/** How long calls may take, and how clients see the names of tools. */
export function CallsSection() {
  const t = useMessages();
  const { data: kept, refetch } = useCoreQuery("settings.show", {});
  if (!kept) return null;
  return (
    <>
      <SettingsSection title={t("settings.calls")} text={t("settings.callsText")}>
        <Limits key={JSON.stringify(kept.calls)} kept={kept} onSaved={refetch} />
      </SettingsSection>
      <SettingsSection title={t("settings.names")} text={t("settings.namesText")}>
        <Names kept={kept} onSaved={refetch} />
      </SettingsSection>
    </>
  );
}

type Props = { kept: Settings; onSaved: () => Promise<void> };

function Limits({ kept, onSaved }: Props) {
  const t = useMessages();
  const set = useAction("settings.set");
  const [silent, setSilent] = useState<number | string>(kept.calls.silentSecs ?? "");
  const [cap, setCap] = useState<number | string>(kept.calls.capSecs ?? "");
  const calls = { silentSecs: seconds(silent), capSecs: seconds(cap) };
  const isChanged = JSON.stringify(calls) !== JSON.stringify(kept.calls);
  const save = async () => {
    if (await set.run({ ...currentSettings(kept), calls })) {
      await onSaved();
      notifications.show({ message: t("settings.saved"), color: "teal", autoClose: 2000 });
    }
  };
  return (
    <SettingsForm layout="fields" isChanged={isChanged} busy={set.busy} onSave={save}>
      <NumberInput
        label={t("settings.callSilent")}
        description={t("settings.callSilentHint")}
        placeholder={t("settings.noLimit")}
        min={1}
        allowDecimal={false}
        allowNegative={false}
        hideControls
        value={silent}
        onChange={setSilent}
      />
      <NumberInput
        label={t("settings.callCap")}
        description={t("settings.callCapHint")}
        placeholder={t("settings.noLimit")}
        min={1}
        allowDecimal={false}
        allowNegative={false}
        hideControls
        value={cap}
        onChange={setCap}
      />
    </SettingsForm>
  );
}

const seconds = (value: number | string) => (typeof value === "number" ? value : null);

const namings: readonly ToolNaming[] = ["onConflict", "server", "mcpServer"];

function Names({ kept, onSaved }: Props) {
  const t = useMessages();
  const set = useAction("settings.set");
  // What was picked stands there while it is being set.
  const [picked, setPicked] = useState<ToolNaming | null>(null);
  const change = async (toolNames: ToolNaming) => {
    setPicked(toolNames);
    if (await set.run({ ...currentSettings(kept), toolNames })) await onSaved();
    setPicked(null);
  };
  return (
    <Radio.Group
      aria-label={t("settings.names")}
      value={picked ?? kept.toolNames}
      onChange={(value) => {
        const wanted = namings.find((one) => one === value);
        if (wanted) void change(wanted);
      }}
    >
      <Stack gap="xs">
        {namings.map((one) => (
          <Radio
            key={one}
            value={one}
            label={t(`settings.names.${one}`)}
            description={t(`settings.names.${one}Text`)}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
