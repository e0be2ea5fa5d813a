import { ActionIcon } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";

import { useMessages } from "../messages";

/** Copies a text, which is made when it is copied where that takes long; `label` says which. */
export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const t = useMessages();
  const { copied, copy } = useClipboard({ timeout: 1500 });
  return (
    <ActionIcon
      variant="subtle"
      color={copied ? "green" : "gray"}
      onClick={() => {
        copy(typeof text === "string" ? text : text());
      }}
      aria-label={label}
      title={copied ? t("appShell.copied") : label}
    >
      {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
    </ActionIcon>
  );
}
