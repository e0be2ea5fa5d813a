import "./clients.css";

import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { IconPlugConnected, IconPlus } from "@tabler/icons-react";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useReading } from "../core/useCoreQuery";
import type { ClientView, MintedClient, UserError } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { Empty } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ProblemAlert } from "../components/ErrorAlert";
import { useConfirm } from "../components/useConfirm";
import { useNow } from "../components/useNow";
import { Waiting } from "../components/LoadingIndicator";
import { asProblem } from "../platform";
import { ClientPreset } from "./ClientAutoApprove";
import { TokenShown } from "./NewTokenPanel";

/** The AI applications that may connect. */
export function ClientsPage() {
  const t = useMessages();
  const { data, problem, loading, readAgain } = useReading("clients.list", {});
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
    void readAgain();
  };
  return (
    <Page title={t("clients.title")} actions={add}>
      {problem && <ProblemAlert problem={problem} />}
      {loading && <Waiting />}
      {data?.length === 0 && (
        <Empty icon={<IconPlugConnected size={26} />} title={t("clients.none")} text={t("clients.noneText")}>
          {add}
        </Empty>
      )}
      <div className="client-list">
        {data?.map((client) => (
          <Client key={client.id} client={client} onMinted={setMinted} onChanged={() => void readAgain()} />
        ))}
      </div>
      <Modal
        opened={adding || minted !== null}
        onClose={close}
        size="lg"
        title={minted ? t("clients.tokenTitle", { name: minted.client.name }) : t("clients.add")}
      >
        {minted ? <TokenShown minted={minted} onDone={close} /> : <AddForm onMinted={setMinted} onCancel={close} />}
      </Modal>
    </Page>
  );
}

function AddForm({ onMinted, onCancel }: { onMinted: (minted: MintedClient) => void; onCancel: () => void }) {
  const t = useMessages();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<UserError | null>(null);
  const add = useAction("clients.add");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add.ask({ name: name.trim() }).then(onMinted, (thrown: unknown) => {
          setProblem(asProblem(thrown));
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
            setProblem(null);
          }}
        />
        {problem && <ProblemAlert problem={problem} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            {t("frame.cancel")}
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

function Client({ client, onMinted, onChanged }: Props) {
  const t = useMessages();
  const { ago, full } = useTimes();
  const now = useNow(10_000);
  const rotate = useAction("clients.rotate");
  const revoke = useAction("clients.revoke");
  const [confirm, dialog] = useConfirm();
  const { id, name, says, lastSeen, sessions, created } = client;
  return (
    <article className="card client" aria-label={name}>
      <span className={lastSeen === null ? "client-icon" : "client-icon client-icon-seen"}>
        <IconPlugConnected size={20} stroke={1.75} aria-hidden />
      </span>
      <div className="client-words">
        <strong>{name}</strong>
        {says !== null && <span className="client-small">{t("clients.says", { says })}</span>}
        <span className="client-small">
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
                rotate.ask({ client: id }).then(onMinted, onChanged);
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
      <ClientPreset client={client} />
      {dialog}
    </article>
  );
}
