import { useId, type ReactNode } from "react";

import type { ApprovalAnswer, ApprovalRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { AnswerButton } from "../AnswerButton";
import { DefinitionChanges } from "./DefinitionChanges";
import cardStyles from "../Card.module.css";

type GenericRequest = Extract<ApprovalRequest, { kind: "config_change" | "client" }>;
type Props = { request: GenericRequest; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** A request without a card of its own (configuration change, client). It can be acknowledged or declined. */
export function GenericCard({ request, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const isConfig = request.kind === "config_change";
  return (
    <article className={cardStyles.card} aria-labelledby={title}>
      <header className={cardStyles.head}>
        <h2 id={title}>
          {isConfig ? t("ask.config", { file: request.file }) : t("ask.other", { name: request.says })}
        </h2>
        {place}
      </header>
      {isConfig && (
        <>
          <p>{t(`ask.config.${request.action}`, { server: request.server })}</p>
          {request.changes.length > 0 && <DefinitionChanges changes={request.changes} />}
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
