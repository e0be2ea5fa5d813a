import { Button, Group, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useEffect, useEffectEvent, useRef, useState } from "react";

import { DialogFoot } from "../components/DialogFoot";
import { ErrorAlert } from "../components/ErrorAlert";
import { useAction } from "../core/useAction";
import { useNamedRun } from "../core/useNamedRun";
import { useCore } from "../core/CoreProvider";
import { SchemaForm, type FormHandle } from "../forms/SchemaForm";
import type { BundlePreview, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { argumentsSchema } from "../forms/argumentsSchema";
import { composedSecrets, type FilledSettings } from "../forms/composedSecrets";
import { buttons } from "../forms/formButtons";
import { withDefaults } from "../forms/schemaDefaults";
import { BundleSummary } from "./BundleSummary";

/** A bundle that is wanted. */
export type WantedBundle = {
  /** Path of the file that is read at once; the user picks one where it is `null`. */
  file: string | null;
  /** SHA-256 that the file must have; any where it is `null`. */
  sha256: string | null;
};

type Props = {
  /** The bundle that is wanted, where it is known. */
  wanted: WantedBundle | null;
  onClose: () => void;
  /** Takes the settings over into the form, where they can be tried and added. */
  onFill: (filled: FilledSettings) => void;
};

/** Adds the server of a bundle: a file is chosen, what it would do is shown, and its options are filled in. */
export function BundlePanel({ wanted, onClose, onFill }: Props) {
  const [preview, setPreview] = useState<BundlePreview | null>(null);
  const [first, setFirst] = useState(wanted?.file ?? null);
  return preview === null ? (
    <BundleChoice start={first} sha256={wanted?.sha256 ?? null} onClose={onClose} onRead={setPreview} />
  ) : (
    <BundleOptions
      preview={preview}
      onBack={() => {
        setFirst(null);
        setPreview(null);
      }}
      onFill={onFill}
    />
  );
}

type ChoiceProps = {
  start: string | null;
  sha256: string | null;
  onClose: () => void;
  onRead: (preview: BundlePreview) => void;
};

/** Which file. Its path can be typed too, for files that the system's dialog does not reach. */
function BundleChoice({ start, sha256, onClose, onRead }: ChoiceProps) {
  const t = useMessages();
  const { platform } = useCore();
  const [file, setFile] = useState(start ?? "");
  const [error, setError] = useState<UserError | null>(null);
  const read = useAction("bundles.read");
  const { begin, stop } = useNamedRun();
  const failed = (thrown: unknown) => {
    const why = toUserError(thrown);
    setError(why.code === "cancelled" ? null : why);
  };
  const load = (path: string) => {
    void begin((run) => read.request({ file: path, sha256, run })).then(onRead, failed);
  };
  const open = (path: string) => {
    setError(null);
    load(path);
  };
  const loadFirst = useEffectEvent(() => {
    if (start !== null) load(start);
  });
  useEffect(() => {
    loadFirst();
  }, []);
  const choose = async () => {
    setError(null);
    const path = await platform.pickFile(["mcpb", "dxt"]);
    if (path === null) return;
    setFile(path);
    open(path);
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        open(file.trim());
      }}
    >
      <Stack gap="md">
        <p className="dim">{t("bundles.about")}</p>
        {sha256 !== null && <p>{t("bundles.compared")}</p>}
        <Group align="flex-end" wrap="nowrap">
          <TextInput
            flex={1}
            label={t("bundles.file")}
            placeholder="/…/server.mcpb"
            classNames={{ input: "mono" }}
            spellCheck={false}
            data-autofocus
            value={file}
            onChange={(event) => {
              setFile(event.currentTarget.value);
            }}
          />
          <Button
            variant="default"
            disabled={read.busy}
            onClick={() => {
              choose().catch(failed);
            }}
          >
            {t("bundles.choose")}
          </Button>
        </Group>
        {error && <ErrorAlert error={error} />}
        <DialogFoot>
          <Button
            variant="default"
            onClick={() => {
              if (!stop()) onClose();
            }}
          >
            {t("appShell.cancel")}
          </Button>
          <Button type="submit" disabled={file.trim() === ""} loading={read.busy}>
            {t("bundles.open")}
          </Button>
        </DialogFoot>
      </Stack>
    </form>
  );
}

type OptionsProps = { preview: BundlePreview; onBack: () => void; onFill: Props["onFill"] };

/** What the bundle would do, and its options. */
function BundleOptions({ preview, onBack, onFill }: OptionsProps) {
  const t = useMessages();
  const [schema] = useState(() => argumentsSchema(preview.options));
  const [values, setValues] = useState<unknown>(() => withDefaults(schema) ?? {});
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({});
  const [error, setError] = useState<UserError | null>(null);
  const form = useRef<FormHandle>(null);
  const configure = useAction("bundles.configure");
  const hasOptions = Object.keys(schema?.properties ?? {}).length > 0;
  const proceed = async () => {
    const given = Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== ""));
    const { draft, secrets: fields } = await configure.request({
      bundle: preview.bundle,
      values: JSON.stringify(values),
      secrets: Object.keys(given),
    });
    onFill({ draft, secrets: composedSecrets(fields, given) });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setError(null);
        if (form.current?.validate() === false) return;
        proceed().catch((thrown: unknown) => {
          setError(toUserError(thrown));
        });
      }}
    >
      <Stack gap="md">
        <BundleSummary preview={preview} />
        {preview.refused === null && schema !== null && hasOptions && (
          <SchemaForm
            schema={schema}
            value={values}
            onChange={setValues}
            idPrefix="bundle"
            buttons={buttons}
            handle={form}
          />
        )}
        {preview.refused === null &&
          preview.secrets.map(({ key, title, description, required }) => (
            <PasswordInput
              key={key}
              label={title}
              description={description ?? undefined}
              required={required}
              autoComplete="off"
              value={secrets[key] ?? ""}
              onChange={(event) => {
                const { value } = event.currentTarget;
                setSecrets((before) => ({ ...before, [key]: value }));
              }}
            />
          ))}
        {error && <ErrorAlert error={error} />}
        <DialogFoot spread>
          <Button variant="default" onClick={onBack}>
            {t("bundles.another")}
          </Button>
          <Button type="submit" disabled={preview.refused !== null} loading={configure.busy}>
            {t("bundles.continue")}
          </Button>
        </DialogFoot>
      </Stack>
    </form>
  );
}
