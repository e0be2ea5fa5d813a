import { Button, Chip, Group, Loader, Modal, NativeSelect, Stack, TextInput } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useState } from "react";

import { DialogFoot } from "../components/DialogFoot";
import { ErrorAlert } from "../components/ErrorAlert";
import { keepPageState, pageStateOf } from "../core/pageState";
import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { KeptDialog } from "../core/useKeptDialog";
import type { ModelInfo, ProviderId, ProviderView, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { ApiKeyField } from "./ApiKeyField";
import { ModelField } from "./ModelField";
import { apis, presets } from "./presets";
import {
  changeOf,
  draftOf,
  firstPreset,
  formFrom,
  formOf,
  losesKey,
  newKey,
  withoutKey,
  type ProviderForm,
} from "./providerForm";
import { useModelList } from "./useModelList";
import styles from "./ProviderDialog.module.css";

/** What outlives the window: the form without a key, and the provider that it was stored as. */
type Unfinished = { form: ProviderForm; saved: ProviderId | null };

/** The dialog that adds or changes a model provider. Its content, a key included, is dropped when it closes. */
export function ProviderDialog({ dialog: { opened, id, formName, close } }: { dialog: KeptDialog }) {
  const t = useMessages();
  const { data } = useCoreQuery("models.show", {});
  const provider = data?.providers.find((one) => one.id === id) ?? null;
  return (
    <Modal
      opened={opened && (id === null || provider !== null)}
      onClose={close}
      title={provider === null ? t("models.add") : t("models.editTitle", { name: provider.name })}
      size="lg"
      closeOnClickOutside={false}
    >
      {opened && data && (
        <ProviderContent providers={data.providers} provider={provider} formName={formName} onClose={close} />
      )}
    </Modal>
  );
}

type ContentProps = {
  providers: readonly ProviderView[];
  /** The provider that is edited; `null` for a new one. */
  provider: ProviderView | null;
  formName: string;
  onClose: () => void;
};

/** The form. A new provider is tried when it is saved: only the core may use a key. */
function ProviderContent({ providers, provider, formName, onClose }: ContentProps) {
  const t = useMessages();
  // What was there when the dialog opened: saving changes it here first.
  const [taken] = useState(() => providers.map(({ name }) => name));
  const [begun] = useState(() => pageStateOf<Unfinished | null>(formName, null));
  const [saved, setSaved] = useState(provider ?? providers.find(({ id }) => id === begun?.saved) ?? null);
  const [form, setForm] = useState(
    () => begun?.form ?? (provider ? formOf(provider) : formFrom(firstPreset(providers), taken)),
  );
  useEffect(() => {
    keepPageState(formName, { form: withoutKey(form), saved: saved?.id ?? null } satisfies Unfinished);
  }, [formName, form, saved]);
  const [error, setError] = useState<UserError | null>(null);
  const add = useAction("models.addProvider");
  const set = useAction("models.setProvider");
  const { list, read, forget } = useModelList();
  const [known, setKnown] = useState<readonly ModelInfo[]>([]);
  const failed = error ?? list.error;
  const busy = add.busy || set.busy;
  const changes = changeOf(form, saved);
  const change = (part: Partial<ProviderForm>) => {
    setForm({ ...form, ...part });
    setError(null);
  };

  const tryIt = async (tried: ProviderView) => {
    const models = await read(tried.id);
    if (models === null) return;
    setKnown(models);
    const [only, second] = models;
    // Nothing else can be meant.
    if (only && !second) setForm((now) => (now.defaultModel === "" ? { ...now, defaultModel: only.id } : now));
  };
  const save = async () => {
    setError(null);
    forget();
    const [draft, key] = [draftOf(form), newKey(form)];
    try {
      const done = saved ? await set.request({ provider: saved.id, draft, key }) : await add.request({ draft, key });
      setSaved(done);
      setForm(formOf(done));
      if (changes === "connection") await tryIt(done);
      else onClose();
    } catch (thrown) {
      setError(toUserError(thrown));
    }
  };
  const isComplete = form.name.trim() !== "" && form.baseUrl.trim() !== "";
  const preset = presets.find(({ id }) => id === form.preset);
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (changes === "none") onClose();
        else if (isComplete && !busy) void save();
      }}
    >
      <Stack gap="md">
        {saved === null && (
          <div role="radiogroup" aria-label={t("models.preset")} className={styles.presets}>
            <Chip.Group
              value={form.preset}
              onChange={(id) => {
                const chosen = presets.find((one) => one.id === id);
                if (chosen) change(formFrom(chosen, taken, form.key));
              }}
            >
              {presets.map(({ id, name }) => (
                <Chip key={id} value={id} size="sm">
                  {name === "" ? t("models.preset.other") : name}
                </Chip>
              ))}
            </Chip.Group>
          </div>
        )}
        <div className={styles.fields}>
          <TextInput
            label={t("models.name")}
            value={form.name}
            required
            withAsterisk={false}
            spellCheck={false}
            onChange={(event) => {
              change({ name: event.currentTarget.value });
            }}
          />
          <NativeSelect
            label={t("models.api")}
            data={apis.map((value) => ({ value, label: t(`models.api.${value}`) }))}
            value={form.api}
            onChange={(event) => {
              const api = apis.find((one) => one === event.currentTarget.value);
              if (api) change({ api });
            }}
          />
        </div>
        <TextInput
          label={t("models.baseUrl")}
          description={t("models.baseUrlHint")}
          classNames={{ input: "mono" }}
          placeholder="https://models.example.com/v1"
          required
          withAsterisk={false}
          spellCheck={false}
          value={form.baseUrl}
          onChange={(event) => {
            change({ baseUrl: event.currentTarget.value });
          }}
        />
        <ApiKeyField
          apiKey={form.key}
          hasKey={saved?.hasKey === true}
          isOptional={preset ? preset.key === "optional" : saved?.hasKey === false}
          isLost={losesKey(form, saved)}
          onChange={(key) => {
            change({ key });
          }}
        />
        <ModelField
          label={t("models.default")}
          description={t("models.defaultHint")}
          models={known}
          value={form.defaultModel}
          onChange={(defaultModel) => {
            change({ defaultModel });
          }}
        />
        <div className={styles.outcome} aria-live="polite">
          {list.running && (
            <Group gap="xs" role="status">
              <Loader size="xs" />
              {t("models.testing")}
              <Button size="xs" variant="default" onClick={forget}>
                {t("models.stopTest")}
              </Button>
            </Group>
          )}
          {list.reply && (
            <p className={clsx(styles.works, "dim")}>
              <IconCircleCheck size={16} aria-hidden /> {t("models.works", { count: list.reply.length })}
            </p>
          )}
          {failed && <ErrorAlert error={failed} />}
        </div>
        <DialogFoot spread>
          {saved && changes !== "connection" && !list.running ? (
            <Button variant="default" disabled={busy} onClick={() => void tryIt(saved)}>
              {t("models.test")}
            </Button>
          ) : (
            <span />
          )}
          <Group gap="xs">
            {changes !== "none" && (
              <Button variant="default" onClick={onClose}>
                {t("appShell.cancel")}
              </Button>
            )}
            <Button type="submit" disabled={!isComplete} loading={busy}>
              {t(saved === null ? "models.addAndTest" : changes === "none" ? "models.done" : "models.save")}
            </Button>
          </Group>
        </DialogFoot>
      </Stack>
    </form>
  );
}
