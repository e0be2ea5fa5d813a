import clsx from "clsx";
import type { ReactNode } from "react";

import type { ApprovalAnswer, ScopeUpgradeRequest } from "../../generated/types";
import { useMessages, type MessageKey } from "../../messages";
import { AnswerShortcuts } from "../AnswerShortcuts";
import { MarkedText } from "../../components/MarkedText";
import { AnswerButton } from "../AnswerButton";
import { seen } from "../../components/invisibleChars";
import { ServerRequestCard } from "./ServerRequestCard";
import styles from "./ScopeUpgradeCard.module.css";

type Props = {
  request: ScopeUpgradeRequest;
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** Descriptions of standard scopes; the meaning of others is up to the server. */
const scopeLabels: Readonly<Record<string, MessageKey>> = {
  openid: "ask.scopes.openid",
  profile: "ask.scopes.profile",
  email: "ask.scopes.email",
  offline_access: "ask.scopes.offline_access",
};

/** A server asks for more OAuth scopes than were granted. */
export function ScopeUpgradeCard({ request: { server, scopes }, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const allow = () => {
    onAnswer({ answer: "accept", content: null });
  };
  return (
    <ServerRequestCard
      title={t("ask.scopes", { name: server.name })}
      server={server}
      client={null}
      focus={keys}
      place={place}
      hint={t("ask.scopes.browser")}
      actions={
        <AnswerButton strong onPress={allow}>
          {t("ask.allow")}
        </AnswerButton>
      }
      onAnswer={onAnswer}
    >
      <AnswerShortcuts
        on={keys}
        onAllow={allow}
        onDeny={() => {
          onAnswer({ answer: "decline" });
        }}
      />
      <p>{t("ask.scopes.text")}</p>
      <ul className={clsx(styles.scopes, "selectable")} tabIndex={0} aria-label={t("ask.scopes.list")}>
        {[...new Set(scopes)].map((scope) => {
          const words = scopeLabels[scope];
          return (
            <li key={scope}>
              <code>
                <MarkedText text={seen(scope)} />
              </code>
              {words !== undefined && <span className="dim">{t(words)}</span>}
            </li>
          );
        })}
      </ul>
    </ServerRequestCard>
  );
}
