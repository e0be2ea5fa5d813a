import { Alert, Button, Group, SegmentedControl, Stack, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconArrowUp } from "@tabler/icons-react";
import clsx from "clsx";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { RegistryUpdate, UserError, ServerConfig } from "../generated/types";
import { navigate, type SettingsPart } from "../navigation/route";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { toUserError } from "../platform";
import { fromConfig, toDraft, updatedForm } from "./serverForm";
import {
  keepUnfinishedForm,
  keepUnfinishedJson,
  unfinishedForm,
  unfinishedJson,
  type UnfinishedForm,
} from "./unfinishedSettings";
import { useFormValidation } from "./useFormValidation";
import { ServerFields } from "./ServerFields";
import collapseStyles from "../components/Collapse.module.css";
import styles from "./SettingsTab.module.css";

/** Brings an editor, which nobody else needs. */
const JsonSettings = lazy(() => import("./JsonSettings"));

type View = "form" | "json";
type Props = {
  config: ServerConfig;
  /** The part that is wanted. */
  at?: SettingsPart | undefined;
  onRemove: () => void;
};

/** The settings of a server, as a form or as JSON. What is not saved stays in the view that it was made in. */
export function SettingsTab({ config, at, onRemove }: Props) {
  const t = useMessages();
  const [chosen, setView] = useState<View>(() => (unfinishedJson(config) === null ? "form" : "json"));
  // A newer version is filled into the form.
  const view = at === "update" ? "form" : chosen;
  const [edited, setEdited] = useState(() => (unfinishedForm(config) ?? unfinishedJson(config)) !== null);
  // A change of looks alone makes no event.
  const { refetch } = useCoreQuery("servers.list", {});
  const onSaved = () => {
    void refetch();
    notifications.show({ message: t("servers.form.saved"), color: "teal", autoClose: 2000 });
  };
  const common = { config, onSaved, onEdited: setEdited };
  return (
    <div className={view === "form" ? styles.form : clsx(styles.form, styles.fill)}>
      <Tooltip label={t("servers.settings.saveFirst")} disabled={!edited}>
        <SegmentedControl
          size="xs"
          mb="md"
          aria-label={t("servers.settings.view")}
          disabled={edited}
          data={(["form", "json"] as const).map((value) => ({ value, label: t(`servers.settings.${value}`) }))}
          value={view}
          onChange={setView}
        />
      </Tooltip>
      {view === "form" ? (
        <FormSettings
          {...common}
          at={at}
          onRemove={onRemove}
          onUpdate={() => {
            setView("form");
            keepUnfinishedJson(config, null);
          }}
        />
      ) : (
        <Suspense fallback={<LoadingIndicator />}>
          <JsonSettings {...common} />
        </Suspense>
      )}
    </div>
  );
}

type FormProps = Props & {
  onEdited: (edited: boolean) => void;
  onSaved: () => void;
  /** A newer version was filled in. */
  onUpdate: () => void;
};

/** The settings of a server in a form. It reconnects only when the connection is another one. */
function FormSettings({ config, at, onRemove, onEdited, onSaved, onUpdate }: FormProps) {
  const t = useMessages();
  const [begun, change] = useState(() => unfinishedForm(config));
  const edited = begun?.form ?? null;
  const filledVersion = begun?.filledVersion ?? null;
  const setEdited = (next: UnfinishedForm | null) => {
    change(next);
    keepUnfinishedForm(config, next);
    onEdited(next !== null);
  };
  const [error, setError] = useState<UserError | null>(null);
  const edit = useAction("servers.edit");
  const fields = useRef<HTMLFormElement>(null);
  const form = edited ?? fromConfig(config);
  const { faults, formError, pending, begin } = useFormValidation<"save">(form, fields, config);
  const shownError = error ?? (edited ? formError : null);
  const failed = (thrown: unknown) => {
    setError(toUserError(thrown));
  };
  const save = () => {
    setError(null);
    const store = () =>
      edit.request({ server: config.id, ...toDraft(form, config) }).then(() => {
        setEdited(null);
        onSaved();
      }, failed);
    void begin("save", store, failed);
  };
  return (
    <form
      ref={fields}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Stack gap="md">
        {at === "update" && edited === null && (
          <UpdateReader
            server={config.id}
            onRead={({ version, draft }) => {
              if (draft !== null) {
                setEdited({ form: updatedForm(draft, config), filledVersion: version });
                onUpdate();
              }
              navigate({ page: "server", id: config.id, tab: "settings" });
            }}
          />
        )}
        {edited !== null && filledVersion !== null && (
          <Alert color="blue" role="status" icon={<IconArrowUp size={18} aria-hidden />}>
            {t("registry.updateFilled", { version: filledVersion })}
          </Alert>
        )}
        <ServerFields
          form={form}
          faults={edited ? faults : {}}
          at={at === "sign-in" ? at : undefined}
          onChange={(change) => {
            setEdited({ form: { ...form, ...change }, filledVersion });
          }}
        />
        {shownError && <ErrorAlert error={shownError} />}
        <Group justify="space-between" gap="xs" className={styles.foot}>
          <Button variant="subtle" color="red" className={collapseStyles.aligned} onClick={onRemove}>
            {t("servers.removeThis")}
          </Button>
          <Group gap="xs">
            {edited && (
              <Button
                variant="default"
                onClick={() => {
                  setEdited(null);
                  setError(null);
                }}
              >
                {t("appShell.cancel")}
              </Button>
            )}
            <Button type="submit" disabled={!edited} loading={pending === "save"}>
              {t("servers.form.save")}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

/** Reads what the registry has newer. */
function UpdateReader({ server, onRead }: { server: string; onRead: (update: RegistryUpdate) => void }) {
  const { data } = useCoreQuery("registry.report", { server });
  const update = data?.update ?? null;
  const read = useRef(onRead);
  useEffect(() => {
    read.current = onRead;
  });
  useEffect(() => {
    if (update !== null) read.current(update);
  }, [update]);
  return null;
}
