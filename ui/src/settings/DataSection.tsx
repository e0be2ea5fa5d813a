import { NumberInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings, StatusReport } from "../generated/types";
import { useMessages } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { useVault } from "../vault/useVault";
import { VaultButton } from "../vault/VaultButton";
import { SettingsForm } from "./SettingsForm";
import { SettingsSection } from "./SettingsSection";
import { currentSettings } from "./currentSettings";
import settingsSectionStyles from "./SettingsSection.module.css";

/** Where everything is, and for how long. */
export function DataSection({ report }: { report: StatusReport }) {
  const t = useMessages();
  const kept = useCoreQuery("settings.show", {}).data;
  const { vault } = useVault();
  const where = report.secrets === "keychain" || report.secrets === "vault" ? report.secrets : ("memory" as const);
  return (
    <SettingsSection title={t("settings.data")}>
      <dl className={settingsSectionStyles.facts}>
        <dt>{t("settings.folder")}</dt>
        <dd>
          <code className="mono selectable">{report.dataDir}</code>
          <CopyButton text={report.dataDir} label={t("settings.copyFolder")} />
        </dd>
        <dt>{t("settings.secrets")}</dt>
        <dd className={settingsSectionStyles.secrets}>
          {t(`settings.secrets.${where}`)}
          {vault && <VaultButton vault={vault} variant="default" />}
        </dd>
      </dl>
      {kept && <Retention key={JSON.stringify(kept)} kept={kept} />}
    </SettingsSection>
  );
}

function Retention({ kept }: { kept: Settings }) {
  const t = useMessages();
  const set = useAction("settings.set");
  const [activityDays, setActivityDays] = useState<number | string>(kept.activityDays);
  const [activityCalls, setActivityCalls] = useState<number | string>(kept.activityCalls);
  const [auditDays, setAuditDays] = useState<number | string>(kept.auditDays ?? "");
  const isRight = typeof activityDays === "number" && typeof activityCalls === "number";
  const save = async () => {
    if (!isRight) return;
    const audit = typeof auditDays === "number" ? auditDays : null;
    if (await set.run({ ...currentSettings(kept), auditDays: audit, activityDays, activityCalls })) {
      notifications.show({ message: t("settings.saved"), color: "teal", autoClose: 2000 });
    }
  };
  return (
    <SettingsForm layout="fields" isChanged canSave={isRight} busy={set.busy} onSave={save}>
      <NumberInput
        label={t("settings.activityDays")}
        min={1}
        allowDecimal={false}
        hideControls
        value={activityDays}
        onChange={setActivityDays}
      />
      <NumberInput
        label={t("settings.activityCalls")}
        min={1}
        allowDecimal={false}
        hideControls
        value={activityCalls}
        onChange={setActivityCalls}
      />
      <NumberInput
        label={t("settings.auditDays")}
        description={t("settings.auditDaysHint")}
        min={7}
        allowDecimal={false}
        hideControls
        value={auditDays}
        onChange={setAuditDays}
      />
    </SettingsForm>
  );
}
