import { useId, type ReactNode } from "react";

import type { Answer, StepUpAsk } from "../gen/types";
import { useMessages, type MessageKey } from "../messages";
import { Marked } from "./Arguments";
import { AskButton } from "./AskButton";
import { AskedBy } from "./AskedBy";
import { seen } from "./fields";
import { useAnswerKeys } from "./useAnswerKeys";

type Props = { ask: StepUpAsk; awake: boolean; keys: boolean; place?: ReactNode; onAnswer: (answer: Answer) => void };

/** What is the same everywhere; every other scope means what its server says. */
const known: Readonly<Record<string, MessageKey>> = {
  openid: "ask.rights.openid",
  profile: "ask.rights.profile",
  email: "ask.rights.email",
  offline_access: "ask.rights.offline_access",
};

/** A server wants more than what was granted when the user signed in. */
export function StepUpCard({ ask: { server, scopes }, awake, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const allow = () => {
    onAnswer({ answer: "accept", content: null });
  };
  const decline = () => {
    onAnswer({ answer: "decline" });
  };
  useAnswerKeys(keys && awake, allow, decline);
  return (
    <article className="ask" aria-labelledby={title}>
      <AskedBy
        id={title}
        title={t("ask.rights", { name: server.name })}
        server={server}
        client={null}
        awake={awake}
        focus={keys}
        place={place}
        onCancel={() => { onAnswer({ answer: "cancel" }); }}
      />
      <p>{t("ask.rights.text")}</p>
      <ul className="ask-scopes selectable" tabIndex={0} aria-label={t("ask.rights.list")}>
        {[...new Set(scopes)].map((scope) => {
          const words = known[scope];
          return (
            <li key={scope}>
              <code>
                <Marked text={seen(scope)} />
              </code>
              {words !== undefined && <span className="ask-dim">{t(words)}</span>}
            </li>
          );
        })}
      </ul>
      <div className="ask-foot">
        <p className="ask-hint">{t("ask.rights.browser")}</p>
        <div className="ask-buttons">
          <AskButton awake={awake} onPress={decline}>
            {t("ask.decline")}
          </AskButton>
          <AskButton awake={awake} strong onPress={allow}>
            {t("ask.allow")}
          </AskButton>
        </div>
      </div>
    </article>
  );
}
