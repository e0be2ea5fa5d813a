import { Kbd, Select, SegmentedControl, Switch } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { StatusReport } from "../generated/types";
import { languageNames, useMessages, type MessageKey } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { Page } from "../components/Page";
import type { PreferencesProps } from "../theme/useAppearance";
import { AuditSection } from "./AuditSection";
import { CallsSection } from "./CallsSection";
import { ClientDocumentSection } from "./ClientDocumentSection";
import { DataSection } from "./DataSection";
import { PackagesSection } from "./PackagesSection";
import { SettingsSection } from "./SettingsSection";
import settingsSectionStyles from "./SettingsSection.module.css";
import styles from "./SettingsPage.module.css";

/** What is set for Gatehouse as a whole. */
export function SettingsPage(look: PreferencesProps) {
  const t = useMessages();
  const report = useCoreQuery("status", {}).data;
  return (
    <Page title={t("settings.title")}>
      <div className={styles.list}>
        <Appearance {...look} />
        {report && <Gateway report={report} />}
        <CallsSection />
        <PackagesSection />
        <ClientDocumentSection />
        {report && <DataSection report={report} />}
        <AuditSection />
        <KeyboardShortcuts />
        {report && (
          <SettingsSection title={t("settings.about")}>
            <p className="selectable">{t("settings.version", { version: report.version })}</p>
          </SettingsSection>
        )}
      </div>
    </Page>
  );
}

function Appearance({ preferences, onPreferences }: PreferencesProps) {
  const t = useMessages();
  return (
    <SettingsSection title={t("settings.look")}>
      <div className={settingsSectionStyles.row}>
        <span id="theme">{t("settings.theme")}</span>
        <SegmentedControl
          aria-labelledby="theme"
          data={(["system", "light", "dark"] as const).map((value) => ({ value, label: t(`settings.theme.${value}`) }))}
          value={preferences.theme}
          onChange={(theme) => {
            onPreferences({ ...preferences, theme });
          }}
        />
      </div>
      <div className={settingsSectionStyles.row}>
        <span>{t("settings.language")}</span>
        <Select
          aria-label={t("settings.language")}
          allowDeselect={false}
          data={[
            { value: "system", label: t("settings.language.system") },
            { value: "en", label: languageNames.en },
            { value: "zh-CN", label: languageNames["zh-CN"] },
          ]}
          value={preferences.language}
          onChange={(language) => {
            if (language !== null) onPreferences({ ...preferences, language });
          }}
        />
      </div>
    </SettingsSection>
  );
}

function Gateway({ report }: { report: StatusReport }) {
  const t = useMessages();
  const switchOn = useAction("servers.switchOn");
  const switchOff = useAction("servers.switchOff");
  return (
    <SettingsSection title={t("settings.gateway")} text={t("settings.addressText")}>
      <div className={settingsSectionStyles.row}>
        <span>{t("settings.address")}</span>
        <span className={styles.value}>
          <code className="mono selectable">{report.endpoint}</code>
          <CopyButton text={report.endpoint} label={t("appShell.copyGateway")} />
        </span>
      </div>
      <Switch
        label={t("settings.mcp")}
        description={t("settings.mcpText")}
        checked={report.switchedOn}
        onChange={(event) => void (event.currentTarget.checked ? switchOn : switchOff).run({})}
      />
    </SettingsSection>
  );
}

const keys: readonly [MessageKey, readonly string[]][] = [
  ["settings.key.palette", ["Ctrl", "K"]],
  ["settings.key.page", ["Ctrl", "1…6"]],
  ["settings.key.allow", ["Ctrl", "Enter"]],
  ["settings.key.deny", ["Ctrl", "Backspace"]],
  ["settings.key.queue", ["←", "→"]],
  ["settings.key.away", ["Esc"]],
];

function KeyboardShortcuts() {
  const t = useMessages();
  return (
    <SettingsSection title={t("settings.keys")}>
      <dl className={settingsSectionStyles.facts}>
        {keys.map(([what, all]) => (
          <div key={what} className={styles.shortcut}>
            <dt>{t(what)}</dt>
            <dd>
              {all.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </SettingsSection>
  );
}
