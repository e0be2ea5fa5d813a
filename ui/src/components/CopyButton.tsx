import { ActionIcon, CopyButton as MantineCopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

import { useMessages } from "../messages";

/** Copies a text; `label` says which. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const t = useMessages();
  return (
    <MantineCopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="subtle"
          color={copied ? "green" : "gray"}
          onClick={copy}
          aria-label={label}
          title={copied ? t("appShell.copied") : label}
        >
          {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
        </ActionIcon>
      )}
    </MantineCopyButton>
  );
}
