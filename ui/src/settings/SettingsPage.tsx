import { Button, Select, SegmentedControl, Switch } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { StatusReport } from "../generated/types";
import { ShortcutList } from "../keyboard/ShortcutList";
import { languageNames, useMessages } from "../messages";
import { formatRoute } from "../navigation/route";
import { CopyButton } from "../components/CopyButton";
import { Page } from "../components/Page";
import type { PreferencesProps } from "../theme/useAppearance";
import { AllowedHosts } from "./AllowedHosts";
import { AuditSection } from "./AuditSection";
import { CallsSection } from "./CallsSection";
import { ClientDocumentSection } from "./ClientDocumentSection";
import { DataSection } from "./DataSection";
import { DesktopSection } from "./DesktopSection";
import { ModelsSection } from "./ModelsSection";
import { PackagesSection } from "./PackagesSection";
import { RegistrySection } from "./RegistrySection";
import { SettingsSection } from "./SettingsSection";
import { TransferSection } from "./TransferSection";
import { UpdatesSection } from "./UpdatesSection";
import settingsSectionStyles from "./SettingsSection.module.css";
import styles from "./SettingsPage.module.css";

/** What is set for Gatehouse as a whole. `at`: the section that the user came for. */
export function SettingsPage({ at, ...look }: PreferencesProps & { at: "models" | null }) {
  const t = useMessages();
  const report = useCoreQuery("status", {}).data;
  return (
    <Page title={t("settings.title")}>
      <div className={styles.list}>
        <Appearance {...look} />
        <Notifications {...look} />
        <DesktopSection />
        <UpdatesSection />
        {report && <Gateway report={report} />}
        <ModelsSection wanted={at === "models"} />
        <CallsSection />
        <PackagesSection />
        <RegistrySection />
        <ClientDocumentSection />
        {report && <DataSection report={report} />}
        <TransferSection />
        <AuditSection />
        <KeyboardShortcuts />
        {report && (
          <SettingsSection title={t("settings.about")}>
            <p className="selectable">{t("settings.version", { version: report.version })}</p>
            <div>
              <Button component="a" size="xs" variant="default" href={formatRoute({ page: "welcome" })}>
                {t("firstRun.again")}
              </Button>
            </div>
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

/** What the desktop says while the windows cannot be seen. */
function Notifications({ preferences, onPreferences }: PreferencesProps) {
  const t = useMessages();
  return (
    <SettingsSection title={t("settings.notifications")} text={t("settings.notificationsText")}>
      <Switch
        label={t("settings.notificationsOn")}
        checked={preferences.notifications}
        onChange={(event) => {
          onPreferences({ ...preferences, notifications: event.currentTarget.checked });
        }}
      />
      <Switch
        label={t("settings.notificationSound")}
        checked={preferences.notificationSound}
        disabled={!preferences.notifications}
        onChange={(event) => {
          onPreferences({ ...preferences, notificationSound: event.currentTarget.checked });
        }}
      />
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
      <AllowedHosts />
    </SettingsSection>
  );
}

function KeyboardShortcuts() {
  const t = useMessages();
  return (
    <SettingsSection title={t("shortcut.title")}>
      <ShortcutList />
    </SettingsSection>
  );
}
