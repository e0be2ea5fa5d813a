import { ActionIcon, Button, CloseButton, FileButton, Textarea, Tooltip } from "@mantine/core";
import { IconArrowUp, IconPhoto, IconPlayerStopFilled } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useRef, useState, type DragEvent } from "react";

import type { ChatImage } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { draftOf, keepDraft, type Draft } from "./drafts";
import { imageAddress, imageTypes, MAX_IMAGE_BYTES, MAX_IMAGES, readImages, type ImageProblem } from "./images";
import { isSendKey } from "./isSendKey";
import styles from "./Composer.module.css";

type Props = {
  /** Which draft it is. */
  draftKey: string;
  /** A turn is under way, which can only be stopped. */
  isRunning: boolean;
  /** Why nothing can be sent now. */
  blocked?: string | null;
  /** A text that takes the place of what was written. */
  suggestion?: { text: string } | null;
  /** Whether it takes the focus when it appears. */
  autoFocus?: boolean;
  /** Sends a message; resolves to whether that was taken. */
  onSend: (text: string, images: ChatImage[]) => Promise<boolean>;
  onStop: () => void;
};

/** Writes a message, with images by button, paste or drop. */
export function Composer({
  draftKey,
  isRunning,
  blocked = null,
  suggestion = null,
  autoFocus = false,
  onSend,
  onStop,
}: Props) {
  const t = useMessages();
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useState(() => draftOf(draftKey));
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<readonly ImageProblem[]>([]);
  const [isOver, setIsOver] = useState(false);
  const [taken, setTaken] = useState(suggestion);
  if (suggestion !== taken) {
    setTaken(suggestion);
    if (suggestion) setDraft((before) => ({ ...before, text: suggestion.text }));
  }
  useEffect(() => {
    keepDraft(draftKey, draft);
  }, [draftKey, draft]);
  useEffect(() => {
    if (suggestion) field.current?.focus();
  }, [suggestion]);
  const { text, images } = draft;
  const canSend = !isRunning && !busy && blocked === null && (text.trim() !== "" || images.length > 0);
  const change = (part: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...part }));
  };
  const send = () => {
    if (!canSend) return;
    setBusy(true);
    setProblems([]);
    void onSend(text.trim(), [...images])
      .then((sent) => {
        if (sent) setDraft({ text: "", images: [] });
      })
      .finally(() => {
        setBusy(false);
        field.current?.focus();
      });
  };
  const attach = (files: readonly File[]) => {
    void readImages(files, images.length).then((read) => {
      setProblems([...new Set(read.problems)]);
      setDraft((before) => ({ ...before, images: [...before.images, ...read.images].slice(0, MAX_IMAGES) }));
      field.current?.focus();
    });
  };
  const dragged = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setIsOver(true);
  };
  return (
    <form
      className={clsx(styles.composer, isOver && styles.over)}
      aria-label={t("chat.compose")}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={dragged}
      onDragLeave={() => {
        setIsOver(false);
      }}
      onDrop={(event) => {
        setIsOver(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        attach([...event.dataTransfer.files]);
      }}
    >
      {images.length > 0 && (
        <ul className={styles.images} aria-label={t("chat.images")}>
          {images.map((image, at) => (
            <li key={at}>
              <img src={imageAddress(image)} alt={t("chat.image")} />
              <CloseButton
                size="sm"
                className={styles.remove}
                aria-label={t("chat.removeImage", { number: at + 1 })}
                onClick={() => {
                  change({ images: images.filter((one) => one !== image) });
                  field.current?.focus();
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <Problems problems={problems} />
      <Textarea
        ref={field}
        variant="unstyled"
        className={styles.field}
        aria-label={t("chat.message")}
        placeholder={t("chat.placeholder")}
        autosize
        minRows={1}
        maxRows={10}
        // The page was opened to write here.
        autoFocus={autoFocus}
        value={text}
        onChange={(event) => {
          change({ text: event.currentTarget.value });
        }}
        onKeyDown={(event) => {
          if (!isSendKey(event)) return;
          event.preventDefault();
          send();
        }}
        onPaste={(event) => {
          const files = [...event.clipboardData.files];
          if (files.length === 0) return;
          event.preventDefault();
          attach(files);
        }}
      />
      <div className={styles.bar}>
        <FileButton multiple accept={imageTypes.join(",")} onChange={attach}>
          {(props) => (
            <Tooltip label={t("chat.attach")}>
              <ActionIcon {...props} variant="subtle" color="gray" size="md" aria-label={t("chat.attach")}>
                <IconPhoto size={18} aria-hidden />
              </ActionIcon>
            </Tooltip>
          )}
        </FileButton>
        <span className={styles.hint}>{blocked ?? t(isRunning ? "chat.running" : "chat.keys")}</span>
        {isRunning ? (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconPlayerStopFilled size={13} aria-hidden />}
            onClick={onStop}
          >
            {t("chat.stop")}
          </Button>
        ) : (
          <Button
            size="xs"
            type="submit"
            loading={busy}
            disabled={!canSend}
            leftSection={<IconArrowUp size={15} aria-hidden />}
          >
            {t("chat.send")}
          </Button>
        )}
      </div>
    </form>
  );
}

/** Why files were not attached. */
function Problems({ problems }: { problems: readonly ImageProblem[] }) {
  const t = useMessages();
  const size = useSizes();
  return (
    <p className={styles.problems} role="status">
      {problems
        .map((problem) => t(`chat.imageProblem.${problem}`, { size: size(MAX_IMAGE_BYTES), count: MAX_IMAGES }))
        .join(" ")}
    </p>
  );
}
