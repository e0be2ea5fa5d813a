import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { IconPlugConnected, IconPlus } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ClientView, MintedClient, UserError } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { useConfirm } from "../components/useConfirm";
import { useNow } from "../components/useNow";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { toUserError } from "../platform";
import { ClientAutoApprove } from "./ClientAutoApprove";
import { NewTokenPanel } from "./NewTokenPanel";
import styles from "./ClientsPage.module.css";

/** The AI applications that may connect. */
export function ClientsPage() {
  const t = useMessages();
  const { data, error, loading, refetch } = useCoreQuery("clients.list", {});
  const [adding, setAdding] = useState(false);
  const [minted, setMinted] = useState<MintedClient | null>(null);
  const add = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => {
        setAdding(true);
      }}
    >
      {t("clients.add")}
    </Button>
  );
  const close = () => {
    setAdding(false);
    setMinted(null);
    void refetch();
  };
  return (
    <Page title={t("clients.title")} actions={add}>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data?.length === 0 && (
        <EmptyState icon={<IconPlugConnected size={26} />} title={t("clients.none")} text={t("clients.noneText")}>
          {add}
        </EmptyState>
      )}
      <div className={styles.list}>
        {data?.map((client) => (
          <ClientCard key={client.id} client={client} onMinted={setMinted} onChanged={() => void refetch()} />
        ))}
      </div>
      <Modal
        opened={adding || minted !== null}
        onClose={close}
        size="lg"
        title={minted ? t("clients.tokenTitle", { name: minted.client.name }) : t("clients.add")}
      >
        {minted ? (
          <NewTokenPanel minted={minted} onDone={close} />
        ) : (
          <AddClientForm onMinted={setMinted} onCancel={close} />
        )}
      </Modal>
    </Page>
  );
}

function AddClientForm({ onMinted, onCancel }: { onMinted: (minted: MintedClient) => void; onCancel: () => void }) {
  const t = useMessages();
  const [name, setName] = useState("");
  const [error, setError] = useState<UserError | null>(null);
  const add = useAction("clients.add");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add.request({ name: name.trim() }).then(onMinted, (thrown: unknown) => {
          setError(toUserError(thrown));
        });
      }}
    >
      <Stack gap="md">
        <TextInput
          label={t("clients.name")}
          description={t("clients.nameHint")}
          data-autofocus
          required
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setError(null);
          }}
        />
        {error && <ErrorAlert error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            {t("appShell.cancel")}
          </Button>
          <Button type="submit" loading={add.busy} disabled={name.trim() === ""}>
            {t("clients.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type Props = { client: ClientView; onMinted: (minted: MintedClient) => void; onChanged: () => void };

function ClientCard({ client, onMinted, onChanged }: Props) {
  const t = useMessages();
  const { ago, full } = useTimes();
  const now = useNow(10_000);
  const rotate = useAction("clients.rotate");
  const revoke = useAction("clients.revoke");
  const [confirm, dialog] = useConfirm();
  const { id, name, says, lastSeen, sessions, created } = client;
  return (
    <article className={clsx("card", styles.client)} aria-label={name}>
      <span className={lastSeen === null ? styles.icon : clsx(styles.icon, styles.seen)}>
        <IconPlugConnected size={20} stroke={1.75} aria-hidden />
      </span>
      <div className={styles.text}>
        <strong>{name}</strong>
        {says !== null && <span className={styles.small}>{t("clients.says", { says })}</span>}
        <span className={styles.small}>
          {[
            lastSeen === null ? t("clients.never") : t("clients.seen", { ago: ago(lastSeen, now) }),
            ...(sessions > 0 ? [t("clients.sessions", { count: sessions })] : []),
            t("clients.created", { date: full(created) }),
          ].join(" · ")}
        </span>
      </div>
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            confirm({
              title: t("clients.rotateTitle", { name }),
              text: t("clients.rotateText"),
              ok: t("clients.rotate"),
              onOk: () => {
                rotate.request({ client: id }).then(onMinted, onChanged);
              },
            });
          }}
        >
          {t("clients.rotate")}
        </Button>
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            confirm({
              title: t("clients.revokeTitle", { name }),
              text: t("clients.revokeText"),
              ok: t("clients.revoke"),
              onOk: () => void revoke.run({ client: id }).then(onChanged),
            });
          }}
        >
          {t("clients.revoke")}
        </Button>
      </Group>
      <ClientAutoApprove client={client} />
      {dialog}
    </article>
  );
}
