import { useId, type ReactNode } from "react";

import type { ApprovalAnswer, ConfigChangeRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { MarkedText } from "../../components/MarkedText";
import { seen } from "../../components/invisibleChars";
import { AnswerButton } from "../AnswerButton";
import { FieldChanges, FieldsSection, NewFields } from "./FieldChanges";
import cardStyles from "../Card.module.css";

type Props = { request: ConfigChangeRequest; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** A settings file was edited by hand, or a project's file names servers. */
export function ConfigChangeCard({ request, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const { file, server, action, changes, profile } = request;
  const isNewOfProject = profile !== null && action === "added";
  return (
    <article className={cardStyles.card} aria-labelledby={title}>
      <header className={cardStyles.head}>
        <h2 id={title}>
          <MarkedText text={t(profile === null ? "ask.config" : "ask.project", { file: seen(file) })} />
        </h2>
        {place}
      </header>
      <p>
        <MarkedText text={t(`ask.config.${action}`, { server: seen(server) })} />
      </p>
      {profile !== null && <p>{t("ask.project.profile", { profile })}</p>}
      {changes.length > 0 && (
        <FieldsSection title={t(action === "added" ? "ask.config.settings" : "ask.changes")}>
          {action === "added" ? <NewFields changes={changes} /> : <FieldChanges changes={changes} />}
        </FieldsSection>
      )}
      <div className={cardStyles.buttons}>
        <AnswerButton
          onPress={() => {
            onAnswer({ answer: "decline" });
          }}
        >
          {t(isNewOfProject ? "ask.project.decline" : "ask.config.decline")}
        </AnswerButton>
        <AnswerButton
          strong
          onPress={() => {
            onAnswer({ answer: "accept", content: null });
          }}
        >
          {t(isNewOfProject ? "ask.project.accept" : "ask.config.accept")}
        </AnswerButton>
      </div>
    </article>
  );
}
