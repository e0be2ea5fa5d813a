import { Alert, Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";

import { useState } from "react";

import { useAction } from "../core/useAction";
import type { MintedClient, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { Collapse } from "../components/Collapse";
import { CopyButton } from "../components/CopyButton";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";
import { bridgeSnippets, configSnippets } from "./configSnippets";
import styles from "./NewTokenPanel.module.css";

/** A new token, shown once and kept nowhere else. */
export function NewTokenPanel({ minted, onDone }: { minted: MintedClient; onDone: () => void }) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  const { endpoint, serverEndpoint, sseEndpoint, token } = minted;
  const all = configSnippets(endpoint, token);
  const bridge = bridgeSnippets(minted.client.name);
  const nameOf = (app: string | null) => app ?? t("clients.generic");
  return (
    <Stack gap="md">
      <Alert color="orange" icon={<IconKey size={18} aria-hidden />}>
        {t("clients.once")}
      </Alert>
      <Value label={t("clients.address")} text={endpoint} copy={t("clients.copyAddress")} />
      <Value label={t("clients.token")} text={token} copy={t("clients.copyToken")} />
      <div>
        <Text fw={600} size="sm" mb={4}>
          {t("clients.snippets")}
        </Text>
        <Tabs defaultValue="0" keepMounted={false}>
          <Tabs.List>
            {all.map(({ app }, at) => (
              <Tabs.Tab key={nameOf(app)} value={String(at)}>
                {nameOf(app)}
              </Tabs.Tab>
            ))}
            <Tabs.Tab value="bridge">{t("clients.bridge")}</Tabs.Tab>
          </Tabs.List>
          {all.map(({ app, text }, at) => (
            <Tabs.Panel key={nameOf(app)} value={String(at)}>
              <Snippet text={text} copy={t("clients.copySnippet", { app: nameOf(app) })} />
            </Tabs.Panel>
          ))}
          <Tabs.Panel value="bridge">
            <KeepToken token={token} />
            <Text size="sm" mt={8}>
              {t("clients.bridgeKeep")}
            </Text>
            <Snippet text={bridge.keepToken} copy={t("clients.copyBridgeCommand")} />
            <Text size="sm" mt={8}>
              {t("clients.bridgeSettings")}
            </Text>
            <Snippet text={bridge.settings} copy={t("clients.copySnippet", { app: t("clients.bridge") })} />
          </Tabs.Panel>
        </Tabs>
      </div>
      <div>
        <Collapse label={t("clients.addresses")} opened={opened} onOpened={setOpened}>
          <Stack gap="md" mt={8}>
            <Value label={t("clients.serverAddress")} text={serverEndpoint} copy={t("clients.copyServerAddress")} />
            <Value label={t("clients.sseAddress")} text={sseEndpoint} copy={t("clients.copySseAddress")} />
          </Stack>
        </Collapse>
      </div>
      <Group justify="flex-end">
        <Button onClick={onDone}>{t("clients.done")}</Button>
      </Group>
    </Stack>
  );
}

/** Stores the token where the bridge finds it, without the terminal. */
function KeepToken({ token }: { token: string }) {
  const t = useMessages();
  const keep = useAction("clients.keepToken");
  const [kept, setKept] = useState(false);
  const [error, setError] = useState<UserError | null>(null);
  return (
    <Stack gap="xs" mt={8} align="flex-start">
      <Text size="sm">{t("clients.bridgeText")}</Text>
      <Button
        size="xs"
        loading={keep.busy}
        disabled={kept}
        onClick={() => {
          setError(null);
          keep.request({ token }).then(
            () => {
              setKept(true);
            },
            (thrown: unknown) => {
              setError(toUserError(thrown));
            },
          );
        }}
      >
        {t("clients.keepForBridge")}
      </Button>
      <div role="status">{kept && <Text size="sm">{t("clients.keptForBridge")}</Text>}</div>
      {error && <ErrorAlert error={error} />}
    </Stack>
  );
}

function Snippet({ text, copy }: { text: string; copy: string }) {
  return (
    <div className={styles.snippet}>
      <pre className="mono selectable" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} label={copy} />
    </div>
  );
}

function Value({ label, text, copy }: { label: string; text: string; copy: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <div className={styles.value} data-testid="copy-value">
        <code className="mono selectable">{text}</code>
        <CopyButton text={text} label={copy} />
      </div>
    </div>
  );
}
