import { SegmentedControl, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useId, useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Settings } from "../generated/types";
import { useMessages } from "../messages";
import { toSourceForm, toPackageSource, type SourceForm } from "./packageSource";
import { SettingsForm } from "./SettingsForm";
import { SettingsSection } from "./SettingsSection";
import { currentSettings } from "./currentSettings";
import settingsSectionStyles from "./SettingsSection.module.css";
import styles from "./PackagesSection.module.css";

/** Where servers that come as packages get them from. */
export function PackagesSection() {
  const t = useMessages();
  const kept = useCoreQuery("settings.show", {}).data;
  if (!kept) return null;
  return (
    <SettingsSection title={t("settings.packages")} text={t("settings.packagesText")}>
      <Sources key={JSON.stringify(kept.packages)} kept={kept} />
    </SettingsSection>
  );
}

function Sources({ kept }: { kept: Settings }) {
  const t = useMessages();
  const set = useAction("settings.set");
  const { refetch } = useCoreQuery("settings.show", {});
  const [npm, setNpm] = useState(() => toSourceForm(kept.packages.npm));
  const [pypi, setPypi] = useState(() => toSourceForm(kept.packages.pypi));
  const [tried, setTried] = useState(false);
  const wanted = { npm: toPackageSource(npm), pypi: toPackageSource(pypi) };
  const isChanged = JSON.stringify(wanted) !== JSON.stringify(kept.packages);
  const save = async () => {
    setTried(true);
    if (!wanted.npm || !wanted.pypi) return;
    const packages = { npm: wanted.npm, pypi: wanted.pypi };
    if (await set.run({ ...currentSettings(kept), packages })) {
      void refetch();
      notifications.show({ message: t("settings.saved"), color: "teal", autoClose: 2000 });
    }
  };
  return (
    <SettingsForm layout="stack" isChanged={isChanged} busy={set.busy} onSave={save}>
      <Source label={t("settings.npm")} form={npm} wrong={tried && !wanted.npm} onChange={setNpm} />
      <Source label={t("settings.pypi")} form={pypi} wrong={tried && !wanted.pypi} onChange={setPypi} />
    </SettingsForm>
  );
}

type SourceProps = { label: string; form: SourceForm; wrong: boolean; onChange: (form: SourceForm) => void };

function Source({ label, form, wrong, onChange }: SourceProps) {
  const t = useMessages();
  const id = useId();
  return (
    <div className={styles.source}>
      <div className={settingsSectionStyles.row}>
        <span id={id}>{label}</span>
        <SegmentedControl
          aria-labelledby={id}
          data={(["fastest", "usual", "custom"] as const).map((value) => ({
            value,
            label: t(`settings.source.${value}`),
          }))}
          value={form.from}
          onChange={(from) => {
            onChange({ ...form, from });
          }}
        />
      </div>
      {form.from === "custom" && (
        <TextInput
          aria-label={t("settings.sourceAddress", { source: label })}
          placeholder="https://"
          spellCheck={false}
          value={form.url}
          error={wrong ? t("settings.badSource") : null}
          onChange={(event) => {
            onChange({ ...form, url: event.currentTarget.value });
          }}
        />
      )}
    </div>
  );
}
