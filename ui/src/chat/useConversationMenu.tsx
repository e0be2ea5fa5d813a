import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { IconCopy, IconDownload, IconPencil, IconTrash } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

import type { ActionMenuProps } from "../components/ActionMenu";
import { useConfirm } from "../components/useConfirm";
import { useCore } from "../core/CoreProvider";
import { showError, useAction } from "../core/useAction";
import type { ConversationId, ConversationSummary } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";

type Named = Pick<ConversationSummary, "id" | "title">;

/** What is done with a whole conversation: the groups of its menu, and the dialogs that they open, which are rendered once. */
export function useConversationMenu(onRemoved: (id: ConversationId) => void): {
  groups: (conversation: Named) => ActionMenuProps["groups"];
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
  const groups = ({ id, title }: Named): ActionMenuProps["groups"] => [
    [
      {
        label: t("chat.rename"),
        icon: <IconPencil size={15} aria-hidden />,
        act: () => {
          setRenamed({ id, title });
        },
      },
      {
        label: t("chat.copy"),
        icon: <IconCopy size={15} aria-hidden />,
        act: () => {
          platform.command("chat.export", { conversation: id, save: false }).then(({ markdown }) => {
            copy(markdown);
            notifications.show({ message: t("appShell.copied"), color: "teal", autoClose: 2000 });
          }, failed);
        },
      },
      {
        label: t("chat.export"),
        icon: <IconDownload size={15} aria-hidden />,
        act: () => {
          save.request({ conversation: id, save: true }).then(({ path }) => {
            notifications.show({ title: t("chat.exported"), message: path, color: "teal", autoClose: 8000 });
          }, failed);
        },
      },
    ],
    [
      {
        label: t("chat.remove"),
        icon: <IconTrash size={15} aria-hidden />,
        isDanger: true,
        act: () => {
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
        },
      },
    ],
  ];
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
  return { groups, dialogs };
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
