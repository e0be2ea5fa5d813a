import { Alert, Button, Group, NativeSelect, Stack } from "@mantine/core";
import { IconArrowLeft, IconExternalLink, IconInfoCircle } from "@tabler/icons-react";
import { useState } from "react";

import { DialogFoot } from "../components/DialogFoot";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useCore } from "../core/CoreProvider";
import { showError, useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import { composedSecrets, type FilledSettings } from "../forms/composedSecrets";
import type { RegistryEntry, RegistryOption, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { firstOption, initialValues, missingInputs, withoutSecrets, type WantedEntry } from "./registryForm";
import { Offline, StatusBadge } from "./RegistryList";
import { RegistryInputs } from "./RegistryInputs";
import styles from "./RegistryPanel.module.css";

type OnFill = (filled: FilledSettings) => void;

type Props = {
  wanted: WantedEntry;
  onBack: () => void;
  onFill: OnFill;
  /** Lets the user choose the file of a bundle, which must have this hash. */
  onBundle: (sha256: string | null) => void;
};

/** One entry: what it is, its versions, and what has to be entered. */
export function RegistryEntryView({ wanted, onBack, onFill, onBundle }: Props) {
  const t = useMessages();
  const { data, error, stop } = useCoreQuery("registry.versions", { name: wanted.name, run: null });
  const [chosen, setChosen] = useState(wanted.version);
  const entries = data?.entries ?? [];
  const entry =
    chosen === null
      ? (entries.find(({ isLatest }) => isLatest) ?? entries[0])
      : entries.find(({ version }) => version === chosen);
  return (
    <Stack gap="md">
      <div>
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconArrowLeft size={16} aria-hidden />}
          onClick={onBack}
        >
          {t("registry.back")}
        </Button>
      </div>
      {data?.offline && <Offline error={data.offline} />}
      {error && <ErrorAlert error={error} />}
      {stop !== null && data === undefined && <LoadingIndicator onCancel={stop} />}
      {data !== undefined && error === null && entry === undefined && <p role="status">{t("registry.noVersion")}</p>}
      {data !== undefined && entries.length > 1 && (
        <NativeSelect
          label={t("registry.version")}
          data={entries.map(({ version, isLatest }) => ({
            value: version,
            label: isLatest ? t("registry.newestVersion", { version }) : version,
          }))}
          value={entry?.version ?? ""}
          onChange={(event) => {
            setChosen(event.currentTarget.value);
          }}
        />
      )}
      {entry !== undefined && <About entry={entry} />}
      {entry !== undefined && <Options key={entry.version} entry={entry} onFill={onFill} onBundle={onBundle} />}
    </Stack>
  );
}

/** A page that the browser did not open. */
const showFailure = (thrown: unknown) => {
  showError(toUserError(thrown));
};

/** What the publisher says. */
function About({ entry }: { entry: RegistryEntry }) {
  const t = useMessages();
  const { platform } = useCore();
  const pages = [
    [entry.website, t("registry.website")],
    [entry.repository, t("registry.repository")],
  ] as const;
  return (
    <section className={styles.about} aria-label={t("registry.entry")}>
      <h3>{entry.title ?? entry.name}</h3>
      <span className={styles.head}>
        <code className={styles.name}>{entry.name}</code>
        <span className="dim">{entry.version}</span>
        <StatusBadge entry={entry} />
      </span>
      {entry.statusMessage !== null && <p>{entry.statusMessage}</p>}
      {entry.description !== "" && <p>{entry.description}</p>}
      <Group gap="xs">
        {pages.map(
          ([address, label]) =>
            address !== null && (
              <Button
                key={label}
                size="compact-xs"
                variant="default"
                title={address}
                rightSection={<IconExternalLink size={14} aria-hidden />}
                onClick={() => void platform.openLink(address).catch(showFailure)}
              >
                {label}
              </Button>
            ),
        )}
      </Group>
      <p className="dim">{t("registry.unchecked")}</p>
    </section>
  );
}

/** The ways to run it, and what is entered for one of them. */
function Options({ entry, onFill, onBundle }: { entry: RegistryEntry } & Pick<Props, "onFill" | "onBundle">) {
  const t = useMessages();
  const { platform } = useCore();
  const [chosen, setChosen] = useState(firstOption(entry.options)?.id);
  const option = entry.options.find(({ id }) => id === chosen);
  if (option === undefined) return <p role="status">{t("registry.noOptions")}</p>;
  return (
    <Stack gap="md">
      <NativeSelect
        label={t("registry.option")}
        data={entry.options.map(({ id, kind, label }) => ({
          value: id,
          label: `${t(`registry.kind.${kind}`)}: ${label}`,
        }))}
        value={option.id}
        onChange={(event) => {
          setChosen(event.currentTarget.value);
        }}
      />
      {option.unusable === null ? (
        <OptionForm key={option.id} entry={entry} option={option} onFill={onFill} />
      ) : (
        <Alert color="orange" role="status" icon={<IconInfoCircle size={18} aria-hidden />}>
          <Stack gap="xs" align="flex-start">
            {t.render(option.unusable)}
            {option.kind === "mcpb" && option.label.startsWith("https://") && (
              <Button
                size="compact-sm"
                variant="default"
                rightSection={<IconExternalLink size={14} aria-hidden />}
                onClick={() => void platform.openLink(option.label).catch(showFailure)}
              >
                {t("registry.download")}
              </Button>
            )}
            {option.kind === "mcpb" && (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => {
                  onBundle(option.fileSha256);
                }}
              >
                {t("registry.openBundle")}
              </Button>
            )}
            {option.kind === "mcpb" && option.fileSha256 === null && <p className="dim">{t("registry.noChecksum")}</p>}
          </Stack>
        </Alert>
      )}
    </Stack>
  );
}

function OptionForm({ entry, option, onFill }: { entry: RegistryEntry; option: RegistryOption; onFill: OnFill }) {
  const t = useMessages();
  const [values, setValues] = useState(() => initialValues(option.inputs));
  const [tried, setTried] = useState(false);
  const [error, setError] = useState<UserError | null>(null);
  const fill = useAction("registry.fill");
  const missing = missingInputs(option.inputs, values);
  const proceed = async () => {
    const { name, version } = entry;
    const told = withoutSecrets(option.inputs, values);
    const { draft, secrets } = await fill.request({
      name,
      version,
      option: option.id,
      ...told,
      run: crypto.randomUUID(),
    });
    onFill({ draft, secrets: composedSecrets(secrets, values) });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        setError(null);
        if (missing.length > 0) return;
        proceed().catch((thrown: unknown) => {
          const why = toUserError(thrown);
          if (why.code !== "cancelled") setError(why);
        });
      }}
    >
      <Stack gap="sm">
        <RegistryInputs
          inputs={option.inputs}
          values={values}
          missing={tried ? missing : []}
          onChange={(id, value) => {
            setValues((before) => ({ ...before, [id]: value }));
            setError(null);
          }}
        />
        {error && <ErrorAlert error={error} />}
        <DialogFoot>
          <Button type="submit" loading={fill.busy}>
            {t("registry.fill")}
          </Button>
        </DialogFoot>
      </Stack>
    </form>
  );
}
