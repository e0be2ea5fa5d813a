import { useId, type ReactNode } from "react";

import type { ApprovalAnswer, ApprovalRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { AnswerButton } from "../AnswerButton";
import { DefinitionChanges } from "./DefinitionChanges";
import cardStyles from "./Card.module.css";

type GenericRequest = Extract<ApprovalRequest, { ask: "config_change" | "client" }>;
type Props = { ask: GenericRequest; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** A request without a card of its own (configuration change, client). It can be acknowledged or declined. */
export function GenericCard({ ask, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const isConfig = ask.ask === "config_change";
  return (
    <article className={cardStyles.card} aria-labelledby={title}>
      <header className={cardStyles.head}>
        <h2 id={title}>{isConfig ? t("ask.config", { file: ask.file }) : t("ask.other", { name: ask.says })}</h2>
        {place}
      </header>
      {isConfig && (
        <>
          <p>{t(`ask.config.${ask.kind}`, { server: ask.server })}</p>
          {ask.changes.length > 0 && <DefinitionChanges changes={ask.changes} />}
        </>
      )}
      <div className={cardStyles.buttons}>
        <AnswerButton
          onPress={() => {
            onAnswer({ answer: "decline" });
          }}
        >
          {isConfig ? t("ask.config.decline") : t("ask.decline")}
        </AnswerButton>
        {isConfig && (
          <AnswerButton
            strong
            onPress={() => {
              onAnswer({ answer: "accept", content: null });
            }}
          >
            {t("ask.config.accept")}
          </AnswerButton>
        )}
      </div>
    </article>
  );
}
