import { Alert, Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";

import type { MintedClient } from "../generated/types";
import { useMessages } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { configSnippets } from "./configSnippets";
import styles from "./NewTokenPanel.module.css";

/** A new token, shown once and kept nowhere else. */
export function NewTokenPanel({ minted, onDone }: { minted: MintedClient; onDone: () => void }) {
  const t = useMessages();
  const { endpoint, token } = minted;
  const all = configSnippets(endpoint, token);
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
          </Tabs.List>
          {all.map(({ app, text }, at) => (
            <Tabs.Panel key={nameOf(app)} value={String(at)}>
              <div className={styles.snippet}>
                <pre className="mono selectable" tabIndex={0}>
                  {text}
                </pre>
                <CopyButton text={text} label={t("clients.copySnippet", { app: nameOf(app) })} />
              </div>
            </Tabs.Panel>
          ))}
        </Tabs>
      </div>
      <Group justify="flex-end">
        <Button onClick={onDone}>{t("clients.done")}</Button>
      </Group>
    </Stack>
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
