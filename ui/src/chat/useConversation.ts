import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useCoreQuery } from "../core/useCoreQuery";
import type { Conversation, ConversationId, UserError } from "../generated/types";
import { piecesAfterReading, withDelta, withStreamedText, type StreamedText, type TextDelta } from "./streamedText";

/** How long a missing piece of text may take before the conversation is read again, in milliseconds. */
const GAP_MS = 150;

/** A conversation with the text that its model is writing, which is taken from events at most once per frame. */
export function useConversation(id: ConversationId): {
  conversation: Conversation | undefined;
  error: UserError | null;
  loading: boolean;
} {
  const { subscribe } = useCore();
  const client = useQueryClient();
  const { data, error, loading } = useCoreQuery("chat.show", { conversation: id });
  const [pieces, setPieces] = useState<readonly StreamedText[]>([]);
  const [read, setRead] = useState(data);
  if (data !== read) {
    setRead(data);
    if (data) setPieces(piecesAfterReading(pieces, data));
  }
  useEffect(() => {
    let gathered: TextDelta[] = [];
    let frame: number | null = null;
    const show = () => {
      frame = null;
      const now = gathered;
      gathered = [];
      setPieces((before) => now.reduce(withDelta, before));
    };
    const stop = subscribe((envelope) => {
      if (envelope?.event.event !== "conversation_delta" || envelope.event.conversation !== id) return;
      gathered.push(envelope.event);
      frame ??= requestAnimationFrame(show);
    });
    return () => {
      stop();
      if (frame !== null) cancelAnimationFrame(frame);
    };
  }, [subscribe, id]);
  const shown = useMemo(() => (data ? withStreamedText(data, pieces) : null), [data, pieces]);
  const hasGap = shown?.hasGap === true;
  useEffect(() => {
    if (!hasGap) return;
    const timer = setTimeout(() => {
      void client.invalidateQueries({ queryKey: ["chat.show", { conversation: id }], exact: true });
    }, GAP_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [client, id, hasGap, data]);
  return { conversation: shown?.conversation, error, loading };
}
