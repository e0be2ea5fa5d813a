import { useId, type ReactNode } from "react";

import type { ApprovalAnswer, ApprovalRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { AskButton } from "../AnswerButton";
import { Changes } from "./DefinitionChanges";

type Plain = Extract<ApprovalRequest, { ask: "config_change" | "client" }>;
type Props = { ask: Plain; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** A question that is neither about a call nor a form. What can only be declined here is never accepted by mistake. */
export function PlainCard({ ask, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const isConfig = ask.ask === "config_change";
  return (
    <article className="ask" aria-labelledby={title}>
      <header className="ask-head">
        <h2 id={title}>{isConfig ? t("ask.config", { file: ask.file }) : t("ask.other", { name: ask.says })}</h2>
        {place}
      </header>
      {isConfig && (
        <>
          <p>{t(`ask.config.${ask.kind}`, { server: ask.server })}</p>
          {ask.changes.length > 0 && <Changes changes={ask.changes} />}
        </>
      )}
      <div className="ask-buttons">
        <AskButton onPress={() => { onAnswer({ answer: "decline" }); }}>
          {isConfig ? t("ask.config.decline") : t("ask.decline")}
        </AskButton>
        {isConfig && (
          <AskButton strong onPress={() => { onAnswer({ answer: "accept", content: null }); }}>
            {t("ask.config.accept")}
          </AskButton>
        )}
      </div>
    </article>
  );
}
