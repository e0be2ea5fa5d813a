import type { ReactNode } from "react";

import type { ApprovalAnswer, ScopeUpgradeRequest } from "../../generated/types";
import { useMessages, type MessageKey } from "../../messages";
import { AnswerKeys } from "../AnswerShortcuts";
import { Marked } from "../arguments/MarkedText";
import { AskButton } from "../AnswerButton";
import { seen } from "../../ask/fields";
import { RequestCard } from "./ServerRequestCard";

type Props = { ask: ScopeUpgradeRequest; keys: boolean; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** What is the same everywhere; every other scope means what its server says. */
const known: Readonly<Record<string, MessageKey>> = {
  openid: "ask.rights.openid",
  profile: "ask.rights.profile",
  email: "ask.rights.email",
  offline_access: "ask.rights.offline_access",
};

/** A server wants more than what was granted when the user signed in. */
export function StepUpCard({ ask: { server, scopes }, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const allow = () => {
    onAnswer({ answer: "accept", content: null });
  };
  return (
    <RequestCard
      title={t("ask.rights", { name: server.name })}
      server={server}
      client={null}
      focus={keys}
      place={place}
      hint={t("ask.rights.browser")}
      actions={
        <AskButton strong onPress={allow}>
          {t("ask.allow")}
        </AskButton>
      }
      onAnswer={onAnswer}
    >
      <AnswerKeys on={keys} onAllow={allow} onDeny={() => { onAnswer({ answer: "decline" }); }} />
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
    </RequestCard>
  );
}
