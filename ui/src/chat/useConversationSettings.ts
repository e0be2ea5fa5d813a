import { useEffect, useRef, useState } from "react";

import { useAction } from "../core/useAction";
import type { ConversationId, ConversationSettings } from "../generated/types";

type Change = {
  settings: ConversationSettings;
  /** What was stored when this change had been, but was not read yet; absent while it is being stored. */
  over?: ConversationSettings;
};

/**
 * The settings of a conversation, and a way to change them. A change shows before it is stored and read again, so that one
 * that follows at once is made to it and doesn't undo it.
 */
export function useConversationSettings(
  conversation: ConversationId,
  stored: ConversationSettings,
): [ConversationSettings, (settings: ConversationSettings) => void] {
  const { run } = useAction("chat.set");
  const [change, setChange] = useState<Change | null>(null);
  const latestStored = useRef(stored);
  useEffect(() => {
    latestStored.current = stored;
  }, [stored]);
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const store = async (settings: ConversationSettings) => {
    setChange({ settings });
    // One after the other: the last change is stored last.
    const storing = last.current.then(() => run({ conversation, settings }));
    last.current = storing;
    const done = (await storing) ? { settings, over: latestStored.current } : null;
    setChange((latest) => (latest?.settings === settings ? done : latest));
  };
  const isRead = change?.over !== undefined && change.over !== stored;
  return [change && !isRead ? change.settings : stored, (settings) => void store(settings)];
}
