import { Button } from "@mantine/core";
import { IconMessages } from "@tabler/icons-react";
import { useRef, useState } from "react";

import { showError, useAction } from "../core/useAction";
import type { ChatImage, ConversationId, ConversationSettings, ModelsView } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import { navigate } from "../navigation/route";
import { Composer } from "./Composer";
import { ConversationHeader } from "./ConversationHeader";
import { isAvailable } from "./modelNames";
import styles from "./NewConversation.module.css";

const suggestions = ["tools", "time", "notes"] as const;

type Props = { models: ModelsView; initial: ConversationSettings; onAddProvider: () => void };

/** A conversation that has not begun: it is made with its first message. */
export function NewConversation({ models, initial, onAddProvider }: Props) {
  const t = useMessages();
  const create = useAction("chat.create");
  const set = useAction("chat.set");
  const send = useAction("chat.send");
  const [settings, setSettings] = useState(initial);
  const [suggestion, setSuggestion] = useState<{ text: string } | null>(null);
  // Made already, where its first message was not taken.
  const made = useRef<ConversationId | null>(null);
  const begin = async (text: string, images: ChatImage[]): Promise<boolean> => {
    try {
      if (made.current === null) made.current = (await create.request({ settings })).id;
      else await set.request({ conversation: made.current, settings });
      await send.request({ conversation: made.current, text, images, replaces: null });
    } catch (thrown) {
      showError(toUserError(thrown));
      return false;
    }
    const conversation = made.current;
    made.current = null;
    // After the field is empty, so that nothing of it is kept as a draft.
    setTimeout(() => {
      navigate({ page: "chat", conversation });
    });
    return true;
  };
  return (
    <div className={styles.conversation}>
      <ConversationHeader
        title={t("chat.new")}
        settings={settings}
        models={models}
        tools={null}
        usage={null}
        onSettings={setSettings}
        menu={null}
        onAddProvider={onAddProvider}
      />
      <div className={styles.begin}>
        <span className={styles.icon} aria-hidden>
          <IconMessages size={26} />
        </span>
        <p className={styles.title}>{t("chat.begin")}</p>
        <p className="dim">{t("chat.beginText")}</p>
        <ul className={styles.suggestions} aria-label={t("chat.suggestions")}>
          {suggestions.map((name) => (
            <li key={name}>
              <Button
                variant="default"
                fullWidth
                justify="flex-start"
                onClick={() => {
                  setSuggestion({ text: t(`chat.suggestion.${name}`) });
                }}
              >
                {t(`chat.suggestion.${name}`)}
              </Button>
            </li>
          ))}
        </ul>
      </div>
      <div className={styles.foot}>
        <Composer
          draftKey="new"
          isRunning={false}
          blocked={!isAvailable(settings.model, models) ? t("chat.chooseModel") : null}
          suggestion={suggestion}
          autoFocus
          onSend={begin}
          onStop={() => undefined}
        />
      </div>
    </div>
  );
}
