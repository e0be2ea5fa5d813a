import { Button, Group, Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconAlertTriangle, IconPlugConnected, IconPlus } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import { useKeptDialog } from "../core/useKeptDialog";
import type { ClientView, MintedClient } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { useConfirm } from "../components/useConfirm";
import { useNow } from "../components/useNow";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { AddClientForm } from "./AddClientForm";
import { AppConnections } from "./AppConnections";
import { ClientAutoApprove } from "./ClientAutoApprove";
import { ClientProfile } from "./ClientProfile";
import { NewTokenPanel } from "./NewTokenPanel";
import { ProfilesSection } from "./ProfilesSection";
import styles from "./ClientsPage.module.css";

/** How often the settings of applications are read again, in milliseconds: nothing tells of a change of theirs. */
const APPS_EVERY = 15_000;

/** The AI applications that may connect. */
export function ClientsPage() {
  const t = useMessages();
  const { data, error, loading, refetch } = useCoreQuery("clients.list", {});
  const apps = useCoreQuery("clients.apps", {}, undefined, { fresh: true, every: APPS_EVERY });
  const changed = () => {
    void refetch();
    void apps.refetch();
  };
  const adding = useKeptDialog("clients.adding");
  const [minted, setMinted] = useState<MintedClient | null>(null);
  const add = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => {
        adding.open(null);
      }}
    >
      {t("clients.add")}
    </Button>
  );
  const isConnected = (client: ClientView) => apps.data?.some((app) => app.client?.id === client.id) ?? false;
  const close = () => {
    adding.close();
    setMinted(null);
    changed();
  };
  return (
    <Page title={t("clients.title")} actions={add}>
      <AppConnections apps={apps} onChanged={changed} />
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data?.length === 0 && (
        <EmptyState icon={<IconPlugConnected size={26} />} title={t("clients.none")} text={t("clients.noneText")}>
          {add}
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && <h2 className={styles.heading}>{t("connect.otherClients")}</h2>}
      <div className={styles.list}>
        {data?.map((client) => (
          <ClientCard
            key={client.id}
            client={client}
            isConnected={isConnected(client)}
            onMinted={setMinted}
            onChanged={changed}
          />
        ))}
      </div>
      {data !== undefined && data.length > 0 && <ProfilesSection />}
      <Modal
        opened={adding.opened || minted !== null}
        onClose={close}
        size="lg"
        title={minted ? t("clients.tokenTitle", { name: minted.client.name }) : t("clients.add")}
      >
        {minted ? (
          <NewTokenPanel minted={minted} onDone={close} />
        ) : (
          <AddClientForm
            formName={adding.formName}
            onMinted={(added) => {
              // The token is shown in this window only.
              adding.close();
              setMinted(added);
            }}
            onCancel={close}
          />
        )}
      </Modal>
    </Page>
  );
}

type Props = {
  client: ClientView;
  /** Whether it is that of a connected application. */
  isConnected: boolean;
  onMinted: (minted: MintedClient) => void;
  onChanged: () => void;
};

function ClientCard({ client, isConnected, onMinted, onChanged }: Props) {
  const t = useMessages();
  const { ago, full } = useTimes();
  const now = useNow(10_000);
  const rotate = useAction("clients.rotate");
  const revoke = useAction("clients.revoke");
  const [confirm, dialog] = useConfirm();
  const { id, name, says, lastSeen, sessions, created, access, hasStaleList } = client;
  const byToken = access.by === "token";
  return (
    <article className={clsx("card", styles.client)} aria-label={name}>
      <span className={lastSeen === null ? styles.icon : clsx(styles.icon, styles.seen)}>
        <IconPlugConnected size={20} stroke={1.75} aria-hidden />
      </span>
      <div className={styles.text}>
        <strong>{name}</strong>
        {hasStaleList && (
          <span className={styles.stale}>
            <IconAlertTriangle size={14} className={styles.staleIcon} aria-hidden />
            <span>
              <strong>{t("clients.stale")}</strong> {t("clients.staleText")}
            </span>
          </span>
        )}
        {says !== null && <span className={styles.small}>{t("clients.says", { says })}</span>}
        <span className={styles.small}>
          {[
            lastSeen === null ? t("clients.never") : t("clients.seen", { ago: ago(lastSeen, now) }),
            ...(sessions > 0 ? [t("clients.sessions", { count: sessions })] : []),
            t(byToken ? "clients.created" : "clients.allowed", { date: full(created) }),
          ].join(" · ")}
        </span>
      </div>
      <Group gap="xs">
        {byToken && (
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              confirm({
                title: t("clients.rotateTitle", { name }),
                text: t(isConnected ? "clients.rotateConnectedText" : "clients.rotateText"),
                ok: t("clients.rotate"),
                onOk: () => {
                  rotate.request({ client: id }).then((minted) => {
                    if (minted.isKept) {
                      notifications.show({ message: t("clients.rotatedConnected", { name }), color: "teal" });
                    } else onMinted(minted);
                  }, onChanged);
                },
              });
            }}
          >
            {t("clients.rotate")}
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            confirm({
              title: t("clients.revokeTitle", { name }),
              text: t(byToken ? "clients.revokeText" : "clients.revokeAccessText"),
              ok: t("clients.revoke"),
              onOk: () => void revoke.run({ client: id }).then(onChanged),
            });
          }}
        >
          {t("clients.revoke")}
        </Button>
      </Group>
      <ClientProfile client={client} />
      <ClientAutoApprove client={client} />
      {dialog}
    </article>
  );
}
