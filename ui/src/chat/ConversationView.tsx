import { Button } from "@mantine/core";
import { IconArrowDown, IconRefresh } from "@tabler/icons-react";
import { startTransition, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";

import { AnswerGuardContext } from "../approvals/AnswerGuardContext";
import { useAnswerGuard } from "../approvals/useAnswerGuard";
import { useMainApprovals } from "../approvals/useMainApprovals";
import type { ActionMenuProps } from "../components/ActionMenu";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useFollowEnd } from "../components/useFollowEnd";
import { useAction } from "../core/useAction";
import type { ChatImage, ChatMessage, Conversation, ConversationId, MessageId, ModelsView } from "../generated/types";
import { useMessages } from "../messages";
import { AnswerAnnouncer } from "./AnswerAnnouncer";
import { AssistantMessage } from "./AssistantMessage";
import { ChatApprovalsContext } from "./ChatApprovals";
import { Composer } from "./Composer";
import { ConversationHeader } from "./ConversationHeader";
import { isAvailable } from "./modelNames";
import { titleOf } from "./titleOf";
import { useConversation } from "./useConversation";
import { useConversationSettings } from "./useConversationSettings";
import { UserMessage } from "./UserMessage";
import styles from "./ConversationView.module.css";

type Props = {
  id: ConversationId;
  models: ModelsView;
  /** The conversation's menu. */
  menu: (title: string) => ActionMenuProps["groups"];
  onAddProvider: () => void;
};

/** A conversation: its messages, and where the next one is written. */
export function ConversationView({ id, menu, ...rest }: Props) {
  const t = useMessages();
  const { conversation, error, loading } = useConversation(id);
  if (error && !conversation) {
    return (
      <div className={styles.failed}>
        <ErrorAlert error={error} />
      </div>
    );
  }
  if (loading || !conversation) return <LoadingIndicator />;
  return <Loaded conversation={conversation} menu={menu(titleOf(t, conversation))} {...rest} />;
}

type LoadedProps = Omit<Props, "id" | "menu"> & { conversation: Conversation; menu: ActionMenuProps["groups"] };

function Loaded({ conversation, models, menu, onAddProvider }: LoadedProps) {
  const t = useMessages();
  const { id, messages, isRunning } = conversation;
  const [settings, setSettings] = useConversationSettings(id, conversation.settings);
  const send = useAction("chat.send");
  const retry = useAction("chat.retry");
  const stop = useAction("chat.stop");
  const shown = useLatestFirst(messages);
  const { area, following, toEnd, onScroll } = useFollowEnd({ enabled: true, size: shown.length, last: messages });
  const { run: sendNow } = send;
  const replace = useCallback(
    (replaces: MessageId, text: string, images: ChatImage[]) => sendNow({ conversation: id, text, images, replaces }),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- it does the same as long as the conversation is the same
    [id],
  );
  const again = useCallback(
    () => void retry.run({ conversation: id }),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- as above
    [id],
  );
  return (
    <Approvals conversation={conversation}>
      <ConversationHeader
        title={titleOf(t, conversation)}
        settings={settings}
        models={models}
        tools={conversation.tools}
        usage={conversation.usage}
        onSettings={setSettings}
        menu={menu}
        onAddProvider={onAddProvider}
      />
      <div
        ref={area}
        className={styles.scroll}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t("chat.messages")}
      >
        <div className={styles.column}>
          {shown.map((message, at) => (
            <div key={message.id} className={styles.message}>
              {message.role === "user" ? (
                <UserMessage message={message} canEdit={!isRunning} onReplace={replace} />
              ) : (
                <AssistantMessage message={message} canRetry={!isRunning && at === shown.length - 1} onRetry={again} />
              )}
            </div>
          ))}
          {!isRunning && messages.at(-1)?.role === "user" && (
            <div>
              <Button size="xs" variant="default" leftSection={<IconRefresh size={14} aria-hidden />} onClick={again}>
                {t("chat.answer")}
              </Button>
            </div>
          )}
        </div>
      </div>
      <div className={styles.foot}>
        {!following && (
          <Button
            size="compact-sm"
            variant="default"
            className={styles.toEnd}
            leftSection={<IconArrowDown size={14} aria-hidden />}
            onClick={toEnd}
          >
            {t("chat.toEnd")}
          </Button>
        )}
        <Composer
          draftKey={id}
          isRunning={isRunning}
          blocked={!isAvailable(settings.model, models) ? t("chat.chooseModel") : null}
          onSend={async (text, images) => {
            const sent = await send.run({ conversation: id, text, images, replaces: null });
            if (sent) toEnd();
            return sent;
          }}
          onStop={() => void stop.run({ conversation: id })}
        />
      </div>
      <AnswerAnnouncer conversation={conversation} />
    </Approvals>
  );
}

/** Messages that are shown at once. */
const FIRST = 20;

/** The latest messages at first, and all of a long conversation as soon as they are rendered, which blocks nothing. */
function useLatestFirst(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const [isWhole, setIsWhole] = useState(messages.length <= FIRST);
  useEffect(() => {
    startTransition(() => {
      setIsWhole(true);
    });
  }, []);
  return isWhole ? messages : messages.slice(-FIRST);
}

/** The approval requests of the conversation's calls, for the calls within. */
function Approvals({ conversation: { messages }, children }: { conversation: Conversation; children: ReactNode }) {
  const calls = messages.flatMap(({ blocks }) => blocks.filter((block) => block.kind === "tool_call"));
  const waiting = calls.flatMap(({ state, approval }) => (state === "waiting" && approval !== null ? [approval] : []));
  const only = useSet(waiting.join(" "));
  const { queue, error, actions } = useMainApprovals(only);
  // A request that moves because a part above it grows or ends wakes the guard anew, as another request does.
  const changes = useChangeCount(calls.map(({ state }) => state).join(" "));
  const awake = useAnswerGuard(queue.anyChange + changes);
  const approvals = useMemo(
    () => ({ slots: new Map(queue.slots.map((slot) => [slot.pending.id, slot])), actions }),
    [queue.slots, actions],
  );
  return (
    <ChatApprovalsContext value={approvals}>
      <AnswerGuardContext value={awake}>
        <div className={styles.conversation}>
          {error && <ErrorAlert error={error} />}
          {children}
        </div>
      </AnswerGuardContext>
    </ChatApprovalsContext>
  );
}

/** Words as a set, which stays the same object for as long as they are the same. */
function useSet(words: string): ReadonlySet<string> {
  const [last, setLast] = useState({ words, set: new Set(words.split(" ")) });
  if (last.words !== words) setLast({ words, set: new Set(words.split(" ")) });
  return last.set;
}

/** How often something has changed. */
function useChangeCount(now: string): number {
  const [last, setLast] = useState({ now, count: 0 });
  if (last.now !== now) setLast({ now, count: last.count + 1 });
  return last.count;
}
