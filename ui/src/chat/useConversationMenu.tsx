import { Button, Group, Menu, Modal, Stack, TextInput } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { IconCopy, IconDownload, IconPencil, IconTrash } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

import { useConfirm } from "../components/useConfirm";
import { useCore } from "../core/CoreProvider";
import { showError, useAction } from "../core/useAction";
import type { ConversationId, ConversationSummary } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";

type Named = Pick<ConversationSummary, "id" | "title">;

/** What is done with a whole conversation: the items of its menu, and the dialogs that they open, which are rendered once. */
export function useConversationMenu(onRemoved: (id: ConversationId) => void): {
  items: (conversation: Named) => ReactNode;
  dialogs: ReactNode;
} {
  const t = useMessages();
  const { platform } = useCore();
  const { copy } = useClipboard();
  const save = useAction("chat.export");
  const remove = useAction("chat.remove");
  const [renamed, setRenamed] = useState<Named | null>(null);
  const [confirm, confirmation] = useConfirm();
  const failed = (thrown: unknown) => {
    showError(toUserError(thrown));
  };
  const items = ({ id, title }: Named) => (
    <>
      <Menu.Item
        leftSection={<IconPencil size={15} aria-hidden />}
        onClick={() => {
          setRenamed({ id, title });
        }}
      >
        {t("chat.rename")}
      </Menu.Item>
      <Menu.Item
        leftSection={<IconCopy size={15} aria-hidden />}
        onClick={() => {
          platform.command("chat.export", { conversation: id, save: false }).then(({ markdown }) => {
            copy(markdown);
            notifications.show({ message: t("appShell.copied"), color: "teal", autoClose: 2000 });
          }, failed);
        }}
      >
        {t("chat.copy")}
      </Menu.Item>
      <Menu.Item
        leftSection={<IconDownload size={15} aria-hidden />}
        onClick={() => {
          save.request({ conversation: id, save: true }).then(({ path }) => {
            notifications.show({ title: t("chat.exported"), message: path, color: "teal", autoClose: 8000 });
          }, failed);
        }}
      >
        {t("chat.export")}
      </Menu.Item>
      <Menu.Divider />
      <Menu.Item
        color="red"
        leftSection={<IconTrash size={15} aria-hidden />}
        onClick={() => {
          confirm({
            title: t("chat.removeTitle", { title }),
            text: t("chat.removeText"),
            ok: t("chat.remove"),
            onOk: () => {
              void remove.run({ conversation: id }).then((done) => {
                if (done) onRemoved(id);
              });
            },
          });
        }}
      >
        {t("chat.remove")}
      </Menu.Item>
    </>
  );
  const close = () => {
    setRenamed(null);
  };
  const dialogs = (
    <>
      <Modal opened={renamed !== null} onClose={close} title={t("chat.renameTitle")} centered>
        {renamed && <RenameForm conversation={renamed} onClose={close} />}
      </Modal>
      {confirmation}
    </>
  );
  return { items, dialogs };
}

function RenameForm({ conversation: { id, title }, onClose }: { conversation: Named; onClose: () => void }) {
  const t = useMessages();
  const { platform } = useCore();
  const set = useAction("chat.set");
  const [text, setText] = useState(title);
  const rename = async () => {
    // The other settings are those of now, whatever the page shows.
    const { settings } = await platform.command("chat.show", { conversation: id });
    const wanted = text.trim();
    await set.request({ conversation: id, settings: { ...settings, title: wanted === "" ? null : wanted } });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        rename().then(onClose, (thrown: unknown) => {
          showError(toUserError(thrown));
        });
      }}
    >
      <Stack gap="md">
        <TextInput
          label={t("chat.title")}
          description={t("chat.titleHint")}
          maxLength={200}
          data-autofocus
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
          }}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t("appShell.cancel")}
          </Button>
          <Button type="submit" loading={set.busy}>
            {t("chat.rename")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
