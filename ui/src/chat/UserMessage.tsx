import { ActionIcon, Button, Group, Textarea, Tooltip } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { memo, useRef, useState } from "react";

import { CopyButton } from "../components/CopyButton";
import type { ChatImage, ChatMessage, MessageId } from "../generated/types";
import { useMessages } from "../messages";
import { imageAddress } from "./images";
import { isSendKey } from "./isSendKey";
import styles from "./UserMessage.module.css";

type Props = {
  message: ChatMessage;
  /** Whether it can be replaced: nothing is being written. */
  canEdit: boolean;
  /** Sends another message in its place; resolves to whether that was taken. */
  onReplace: (message: MessageId, text: string, images: ChatImage[]) => Promise<boolean>;
};

/** A message of the user, which can be edited: the conversation then goes on from there. */
export const UserMessage = memo(function UserMessage({ message, canEdit, onReplace }: Props) {
  const t = useMessages();
  const edit = useRef<HTMLButtonElement>(null);
  const [editing, setEditing] = useState(false);
  const text = message.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n");
  const images = message.blocks.filter((block) => block.kind === "image");
  if (editing) {
    return (
      <article className={styles.message} aria-label={t("chat.message.user")}>
        <Editor
          text={text}
          onSend={async (now) => {
            const sent = images.map(({ mimeType, data }) => ({ mimeType, data }));
            if (await onReplace(message.id, now, sent)) setEditing(false);
          }}
          onCancel={() => {
            setEditing(false);
            requestAnimationFrame(() => edit.current?.focus());
          }}
        />
      </article>
    );
  }
  return (
    <article className={styles.message} aria-label={t("chat.message.user")}>
      <div className={styles.bubble}>
        {images.length > 0 && (
          <div className={styles.images}>
            {images.map((image, at) => (
              <img key={at} src={imageAddress(image)} alt={t("chat.image")} />
            ))}
          </div>
        )}
        {text !== "" && <p>{text}</p>}
      </div>
      <div className={styles.actions}>
        {canEdit && (
          <Tooltip label={t("chat.edit")}>
            <ActionIcon
              ref={edit}
              variant="subtle"
              color="gray"
              aria-label={t("chat.edit")}
              onClick={() => {
                setEditing(true);
              }}
            >
              <IconPencil size={16} aria-hidden />
            </ActionIcon>
          </Tooltip>
        )}
        {text !== "" && <CopyButton text={text} label={t("chat.copyMessage")} />}
      </div>
    </article>
  );
});

type EditorProps = { text: string; onSend: (text: string) => Promise<void>; onCancel: () => void };

function Editor({ text: before, onSend, onCancel }: EditorProps) {
  const t = useMessages();
  const [text, setText] = useState(before);
  const [busy, setBusy] = useState(false);
  const canSend = text.trim() !== "" && !busy;
  const send = () => {
    setBusy(true);
    void onSend(text.trim()).finally(() => {
      setBusy(false);
    });
  };
  return (
    <form
      className={styles.editor}
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) send();
      }}
    >
      <Textarea
        aria-label={t("chat.edit")}
        description={t("chat.editHint")}
        inputWrapperOrder={["input", "description"]}
        autosize
        minRows={2}
        maxRows={12}
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (isSendKey(event)) {
            event.preventDefault();
            if (canSend) send();
          } else if (event.key === "Escape") {
            event.stopPropagation();
            onCancel();
          }
        }}
      />
      <Group gap="xs" justify="flex-end">
        <Button size="xs" variant="default" onClick={onCancel}>
          {t("appShell.cancel")}
        </Button>
        <Button size="xs" type="submit" disabled={!canSend} loading={busy}>
          {t("chat.send")}
        </Button>
      </Group>
    </form>
  );
}
