import { Alert, Button, Modal } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconPlugConnected, IconPlugConnectedX } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { showError, useAction } from "../core/useAction";
import type { CoreQuery } from "../core/useCoreQuery";
import type { AppView, DisconnectResult } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { Collapse } from "../components/Collapse";
import { ErrorAlert } from "../components/ErrorAlert";
import { ErrorTitle } from "../components/ErrorDetails";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useConfirm } from "../components/useConfirm";
import { useNow } from "../components/useNow";
import { toUserError } from "../platform";
import { ConnectDialog } from "./ConnectDialog";
import styles from "./AppConnections.module.css";

/** The AI applications of this computer, each with one click to connect or disconnect it. */
export function AppConnections({ apps, onChanged }: { apps: CoreQuery<AppView[]>; onChanged: () => void }) {
  const t = useMessages();
  const { data, error, loading } = apps;
  const [opened, setOpened] = useState(false);
  const [connecting, setConnecting] = useState<AppView | null>(null);
  const [dialogOpened, setDialogOpened] = useState(false);
  const [dialogBusy, setDialogBusy] = useState(false);
  const closeDialog = () => {
    setDialogOpened(false);
  };
  const [disconnected, setDisconnected] = useState<DisconnectResult | null>(null);
  const isShown = (view: AppView) => view.isInstalled || view.state !== "not_connected";
  const shown = data?.filter(isShown) ?? [];
  const others = data?.filter((view) => !isShown(view)) ?? [];
  const card = (view: AppView) => (
    <AppCard
      key={view.app}
      view={view}
      onConnect={() => {
        setDisconnected(null);
        setConnecting(view);
        setDialogOpened(true);
      }}
      onDisconnected={(result) => {
        setDisconnected(result);
        onChanged();
      }}
    />
  );
  return (
    <section aria-label={t("connect.title")}>
      <h2 className={styles.title}>{t("connect.title")}</h2>
      <p className={styles.hint}>{t("connect.text")}</p>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data !== undefined && shown.length === 0 && <p className={styles.hint}>{t("connect.none")}</p>}
      <div role="status">
        {disconnected && (
          <Disconnected
            result={disconnected}
            onClose={() => {
              setDisconnected(null);
            }}
          />
        )}
      </div>
      <ul className={styles.apps}>{shown.map(card)}</ul>
      {others.length > 0 && (
        <Collapse label={t("connect.others", { count: others.length })} opened={opened} onOpened={setOpened}>
          <ul className={styles.apps}>{others.map(card)}</ul>
        </Collapse>
      )}
      <Modal
        opened={dialogOpened}
        onClose={closeDialog}
        closeOnEscape={!dialogBusy}
        closeOnClickOutside={!dialogBusy}
        closeButtonProps={{ disabled: dialogBusy, "aria-label": t("appShell.close") }}
        size="xl"
        title={connecting && t("connect.dialogTitle", { name: connecting.name })}
      >
        {connecting && (
          <ConnectDialog app={connecting.app} onConnected={onChanged} onClose={closeDialog} onBusy={setDialogBusy} />
        )}
      </Modal>
    </section>
  );
}

function Disconnected({ result, onClose }: { result: DisconnectResult; onClose: () => void }) {
  const t = useMessages();
  const { name, files, reload } = result;
  return (
    <Alert
      color="teal"
      icon={<IconCheck size={18} aria-hidden />}
      title={t("connect.disconnectedTitle", { name })}
      withCloseButton
      closeButtonLabel={t("appShell.close")}
      onClose={onClose}
      className={styles.result}
    >
      {files.map(({ path, how }) => (
        <div key={path} className={styles.path}>
          {t(`connect.how.${how}`, { path })}
        </div>
      ))}
      {reload !== "automatic" && <div>{t(`connect.reload.${reload}`, { name })}</div>}
    </Alert>
  );
}

const icons = {
  not_connected: IconPlugConnectedX,
  connected: IconPlugConnected,
  changed_by_hand: IconAlertTriangle,
  revoked: IconAlertTriangle,
} as const;

type CardProps = { view: AppView; onConnect: () => void; onDisconnected: (result: DisconnectResult) => void };

function AppCard({ view, onConnect, onDisconnected }: CardProps) {
  const t = useMessages();
  const disconnect = useAction("clients.disconnect");
  const [confirm, dialog] = useConfirm();
  const { app, name, state, problem } = view;
  const StateIcon = icons[state];
  return (
    <li className={clsx("card", styles.app)} aria-label={name}>
      <span className={styles.initial} aria-hidden>
        {name.charAt(0)}
      </span>
      <div className={styles.text}>
        <strong>{name}</strong>
        <span className={clsx(styles.state, styles[state])}>
          <StateIcon size={14} className={styles.stateIcon} aria-hidden />
          {t(view.isInstalled || state !== "not_connected" ? `connect.state.${state}` : "connect.notFound")}
        </span>
        {state === "connected" && <LastUse view={view} />}
        {state === "changed_by_hand" && <span className={styles.small}>{t("connect.changedText")}</span>}
        {state === "revoked" && <span className={styles.small}>{t("connect.revokedText")}</span>}
        {view.hasForeignEntry && <span className={styles.small}>{t("connect.foreignText")}</span>}
        {problem && (
          <span className={clsx(styles.small, styles.problem)}>
            <ErrorTitle error={problem} />
          </span>
        )}
      </div>
      {state === "not_connected" ? (
        <Button size="xs" aria-label={t("connect.connectName", { name })} onClick={onConnect}>
          {t("connect.connect")}
        </Button>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={disconnect.busy}
          aria-label={t("connect.disconnectName", { name })}
          onClick={() => {
            confirm({
              title: t("connect.disconnectTitle", { name }),
              text: t("connect.disconnectText", { name }),
              ok: t("connect.disconnect"),
              onOk: () => {
                disconnect.request({ app }).then(onDisconnected, (thrown: unknown) => {
                  showError(toUserError(thrown));
                });
              },
            });
          }}
        >
          {t("connect.disconnect")}
        </Button>
      )}
      {dialog}
    </li>
  );
}

/** When the application last called, and whether it works with an old list of tools. */
function LastUse({ view }: { view: AppView }) {
  const t = useMessages();
  const { ago } = useTimes();
  const now = useNow(10_000);
  const { lastCall, client } = view;
  return (
    <>
      <span className={styles.small}>
        {lastCall === null ? t("connect.noCall") : t("connect.lastCall", { ago: ago(lastCall, now) })}
      </span>
      {client?.hasStaleList && <span className={clsx(styles.small, styles.changed_by_hand)}>{t("clients.stale")}</span>}
    </>
  );
}
