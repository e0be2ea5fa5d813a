import { VisuallyHidden } from "@mantine/core";
import { useState } from "react";

import type { Conversation } from "../generated/types";
import { useMessages, type Translate } from "../messages";

/** The most characters of an answer that are read out at once. */
const MAX_SPOKEN = 1000;

/**
 * Tells people who hear the page how the answer stands: it is being written, a call waits for them, and at the end the
 * answer itself. What was there when the conversation was opened is not told.
 */
export function AnswerAnnouncer({ conversation }: { conversation: Conversation }) {
  const t = useMessages();
  const now = spoken(t, conversation);
  const [first, setFirst] = useState<string | null>(now);
  if (first !== null && first !== now) setFirst(null);
  return (
    <VisuallyHidden>
      <div role="status" data-testid="chat-answer">
        {first === null ? now : ""}
      </div>
    </VisuallyHidden>
  );
}

function spoken(t: Translate, { messages }: Conversation): string {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return "";
  if (last.state === "running") {
    const waiting = last.blocks.find((block) => block.kind === "tool_call" && block.state === "waiting");
    return waiting?.kind === "tool_call" ? t("chat.asks", { tool: waiting.title }) : t("chat.writing");
  }
  const text = last.blocks.findLast((block) => block.kind === "text");
  return text?.kind === "text" ? text.text.slice(0, MAX_SPOKEN) : t("chat.ended");
}
