import { ActionIcon, CopyButton as MantineCopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

import { useMessages } from "../messages";

/** Copies a text; `label` says which. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const t = useMessages();
  return (
    <MantineCopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t("appShell.copied") : label}>
          <ActionIcon variant="subtle" color={copied ? "green" : "gray"} onClick={copy} aria-label={label}>
            {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      )}
    </MantineCopyButton>
  );
}
