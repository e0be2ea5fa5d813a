import { Alert, Badge, Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { showError, useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { App, ConnectPreview, ConnectResult, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { DiffView } from "../components/DiffView";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { toUserError } from "../platform";
import styles from "./ConnectDialog.module.css";

type Props = {
  app: App;
  onConnected: () => void;
  onClose: () => void;
  /** The dialog must not be closed while it connects. */
  onBusy: (busy: boolean) => void;
};

/** Shows what connecting an application changes, and does exactly that. */
export function ConnectDialog({ app, onConnected, onClose, onBusy }: Props) {
  const t = useMessages();
  const [allowRule, setAllowRule] = useState(false);
  const {
    data: preview,
    error,
    loading,
    outdated,
    refetch,
  } = useCoreQuery("clients.connectPreview", { app, allowRule }, undefined, { fresh: true });
  const connect = useAction("clients.connect");
  const [failure, setFailure] = useState<UserError | null>(null);
  const [result, setResult] = useState<ConnectResult | null>(null);
  const gone = useRef(false);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  if (result) return <Connected result={result} onClose={onClose} />;
  const run = ({ fingerprint }: ConnectPreview) => {
    setFailure(null);
    onBusy(true);
    connect.request({ app, allowRule, fingerprint }).then(
      (done) => {
        onBusy(false);
        setResult(done);
        onConnected();
      },
      (thrown: unknown) => {
        onBusy(false);
        const failed = toUserError(thrown);
        // The page was left, and the dialog with it.
        if (gone.current) showError(failed);
        else setFailure(failed);
        // The file may have changed since it was read.
        void refetch();
      },
    );
  };
  return (
    <Stack gap="md">
      {loading && <LoadingIndicator />}
      {error && <ErrorAlert error={error} />}
      {preview && <Changes preview={preview} />}
      {preview?.hasAllowRule && (
        <Checkbox
          checked={allowRule}
          disabled={connect.busy}
          label={t("connect.allowRule", { name: preview.name })}
          description={t("connect.allowRuleHint")}
          onChange={(event) => {
            setAllowRule(event.currentTarget.checked);
          }}
        />
      )}
      {failure && <ErrorAlert error={failure} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" disabled={connect.busy} onClick={onClose}>
          {t("appShell.cancel")}
        </Button>
        <Button
          loading={connect.busy}
          aria-busy={connect.busy}
          disabled={preview === undefined || error !== null || outdated}
          onClick={() => {
            if (preview) run(preview);
          }}
        >
          {t("connect.connect")}
        </Button>
      </Group>
    </Stack>
  );
}

function Changes({ preview: { name, client, files, replacesEntry } }: { preview: ConnectPreview }) {
  const t = useMessages();
  return (
    <>
      <Text size="sm">{t("connect.willAdd", { name, client })}</Text>
      {replacesEntry && <Alert color="orange">{t("connect.replaces")}</Alert>}
      {files.map(({ path, isNew, lines }) => (
        <div key={path}>
          <div className={styles.file}>
            <code className="mono selectable">{path}</code>
            {isNew && (
              <Badge color="gray" variant="light">
                {t("connect.new")}
              </Badge>
            )}
          </div>
          <DiffView lines={lines} label={t(isNew ? "connect.newFile" : "connect.change", { path })} />
        </div>
      ))}
      <Text size="sm" c="dimmed">
        {t("connect.backup")}
      </Text>
    </>
  );
}

function Connected({ result: { name, client, reload }, onClose }: { result: ConnectResult; onClose: () => void }) {
  const t = useMessages();
  return (
    <Stack gap="md">
      <Alert
        color="teal"
        icon={<IconCheck size={18} aria-hidden />}
        title={t("connect.connectedTitle", { name })}
        role="status"
      >
        {t("connect.connectedText", { client: client.name })} {t(`connect.reload.${reload}`, { name })}
      </Alert>
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          {t("connect.done")}
        </Button>
      </Group>
    </Stack>
  );
}
