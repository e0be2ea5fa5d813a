import { ActionIcon, Button, Loader, Tooltip } from "@mantine/core";
import { IconAlertTriangle, IconPlayerStop, IconRefresh } from "@tabler/icons-react";
import { memo, useState } from "react";

import { Collapse } from "../components/Collapse";
import { CopyButton } from "../components/CopyButton";
import { ErrorAlert } from "../components/ErrorAlert";
import type { ChatBlock, ChatMessage } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { FoldedReads } from "./FoldedReads";
import { imageAddress } from "./images";
import { Markdown } from "./Markdown";
import { segmentsOf } from "./segments";
import { ToolCallItem } from "./ToolCallItem";
import styles from "./AssistantMessage.module.css";

type Props = {
  message: ChatMessage;
  /** Whether it can be written again: it is the last one, and nothing is being written. */
  canRetry: boolean;
  /** Lets the model write again; one that used tools as often as it may goes on instead. */
  onRetry: () => void;
};

/** What a model wrote in a turn, with its tool calls in between. */
export const AssistantMessage = memo(function AssistantMessage({ message, canRetry, onRetry }: Props) {
  const t = useMessages();
  const { blocks, state, error } = message;
  const segments = segmentsOf(blocks);
  return (
    <article className={styles.message} aria-label={t("chat.message.model")}>
      {segments.map((segment) =>
        segment.kind === "reads" ? (
          <FoldedReads key={segment.key} calls={segment.calls} />
        ) : (
          <Block key={segment.key} block={segment.block} />
        ),
      )}
      {state === "running" && !isBusy(segments.at(-1)) && (
        <p className={styles.writing}>
          <Loader type="dots" size="xs" aria-hidden />
          <span>{t("chat.writing")}</span>
        </p>
      )}
      {state === "stopped" && (
        <p className={styles.end}>
          <IconPlayerStop size={15} aria-hidden /> {t("chat.stopped")}
        </p>
      )}
      {state === "round_limit" && (
        <p className={styles.end}>
          <IconAlertTriangle size={15} aria-hidden /> {t("chat.roundLimit")}
          {canRetry && (
            <Button size="compact-xs" variant="default" onClick={onRetry}>
              {t("chat.continue")}
            </Button>
          )}
        </p>
      )}
      {error && (
        <ErrorAlert error={error}>
          {canRetry && (
            <Button size="xs" variant="default" leftSection={<IconRefresh size={14} aria-hidden />} onClick={onRetry}>
              {t("appShell.again")}
            </Button>
          )}
        </ErrorAlert>
      )}
      {state !== "running" && (
        <Foot message={message} canRetry={canRetry && !error && state !== "round_limit"} onRetry={onRetry} />
      )}
    </article>
  );
});

/** Whether a part shows by itself that more is to come. */
function isBusy(segment: ReturnType<typeof segmentsOf>[number] | undefined): boolean {
  if (segment?.kind !== "block") return false;
  const { block } = segment;
  if (block.kind === "tool_call")
    return block.state === "writing" || block.state === "running" || block.state === "waiting";
  return block.kind === "text";
}

function Block({ block }: { block: ChatBlock }) {
  const t = useMessages();
  switch (block.kind) {
    case "text":
      return <Markdown text={block.text} />;
    case "reasoning":
      return <Reasoning text={block.text} />;
    case "image":
      return <img className={styles.image} src={imageAddress(block)} alt={t("chat.image")} />;
    case "tool_call":
      return <ToolCallItem call={block} />;
  }
}

/** What the model says of its reasoning, folded. */
function Reasoning({ text }: { text: string }) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  return (
    <div className={styles.reasoning}>
      <Collapse label={t("chat.reasoning")} opened={opened} onOpened={setOpened}>
        <div className={styles.thoughts}>
          <Markdown text={text} />
        </div>
      </Collapse>
    </div>
  );
}

/** Who wrote it, when and for how many tokens, and what can be done with it. */
function Foot({
  message: { blocks, model, usage, at },
  canRetry,
  onRetry,
}: Pick<Props, "message" | "canRetry" | "onRetry">) {
  const t = useMessages();
  const { time, full } = useTimes();
  const text = blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
  return (
    <footer className={styles.foot}>
      {text !== "" && <CopyButton text={text} label={t("chat.copyMessage")} />}
      {canRetry && (
        <Tooltip label={t("chat.retry")}>
          <ActionIcon variant="subtle" color="gray" aria-label={t("chat.retry")} onClick={onRetry}>
            <IconRefresh size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      )}
      <span className={styles.about}>
        {model !== null && <span>{model}</span>}
        {usage && <span>{t("chat.usage", { input: usage.input, output: usage.output })}</span>}
        <span title={full(at)}>{time(at)}</span>
      </span>
    </footer>
  );
}
