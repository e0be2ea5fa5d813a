import { Group, Loader, Text } from "@mantine/core";

import { useMessages } from "../messages";

/** A loading indicator. It appears after a delay, so that fast reads don't flicker. */
export function LoadingIndicator() {
  const t = useMessages();
  return (
    <Group role="status" className="waiting" gap="sm">
      <Loader size="sm" />
      <Text c="dimmed">{t("frame.loading")}</Text>
    </Group>
  );
}
