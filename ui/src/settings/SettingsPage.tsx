import "./settings.css";

import { Kbd, Select, SegmentedControl, Switch } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useReading } from "../core/useCoreQuery";
import type { LookProps } from "../app-shell/AppShell";
import type { StatusReport } from "../generated/types";
import { languageNames, useMessages, type MessageKey } from "../messages";
import { Copy } from "../components/CopyButton";
import { Page } from "../components/Page";
import { Audit } from "./AuditSection";
import { Calls } from "./CallsSection";
import { ClientDocument } from "./ClientDocumentSection";
import { Data } from "./DataSection";
import { Packages } from "./PackagesSection";
import { Section } from "./SettingsSection";

/** What is set for Gatehouse as a whole. */
export function SettingsPage(look: LookProps) {
  const t = useMessages();
  const report = useReading("status", {}).data;
  return (
    <Page title={t("settings.title")}>
      <div className="settings">
        <Appearance {...look} />
        {report && <Gateway report={report} />}
        <Calls />
        <Packages />
        <ClientDocument />
        {report && <Data report={report} />}
        <Audit />
        <Keys />
        {report && (
          <Section title={t("settings.about")}>
            <p className="selectable">{t("settings.version", { version: report.version })}</p>
          </Section>
        )}
      </div>
    </Page>
  );
}

function Appearance({ preferences, onPreferences }: LookProps) {
  const t = useMessages();
  return (
    <Section title={t("settings.look")}>
      <div className="settings-row">
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
      <div className="settings-row">
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
    </Section>
  );
}

function Gateway({ report }: { report: StatusReport }) {
  const t = useMessages();
  const switchOn = useAction("servers.switchOn");
  const switchOff = useAction("servers.switchOff");
  return (
    <Section title={t("settings.gateway")} text={t("settings.addressText")}>
      <div className="settings-row">
        <span>{t("settings.address")}</span>
        <span className="settings-value">
          <code className="mono selectable">{report.endpoint}</code>
          <Copy text={report.endpoint} label={t("frame.copyGateway")} />
        </span>
      </div>
      <Switch
        label={t("settings.mcp")}
        description={t("settings.mcpText")}
        checked={report.switchedOn}
        onChange={(event) => void (event.currentTarget.checked ? switchOn : switchOff).run({})}
      />
    </Section>
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

function Keys() {
  const t = useMessages();
  return (
    <Section title={t("settings.keys")}>
      <dl className="settings-facts">
        {keys.map(([what, all]) => (
          <div key={what} className="settings-key">
            <dt>{t(what)}</dt>
            <dd>
              {all.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
