import { Modal } from "@mantine/core";

import { ShortcutList } from "../keyboard/ShortcutList";
import { useMessages } from "../messages";

/** The sheet with all keyboard shortcuts. */
export function ShortcutsDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const t = useMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={t("shortcut.title")} centered>
      <ShortcutList />
    </Modal>
  );
}
