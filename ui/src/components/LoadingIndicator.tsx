import { Group, Loader, Text } from "@mantine/core";

import { useMessages } from "../messages";

/** Something is being read. It shows only after a moment, so that quick readings do not flicker. */
export function Waiting() {
  const t = useMessages();
  return (
    <Group role="status" className="waiting" gap="sm">
      <Loader size="sm" />
      <Text c="dimmed">{t("frame.loading")}</Text>
    </Group>
  );
}
