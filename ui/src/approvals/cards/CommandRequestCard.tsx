import { useId, type ReactNode } from "react";

import type { ApprovalAnswer, CommandRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { DiffView } from "../../components/DiffView";
import { MarkedText } from "../../components/MarkedText";
import { seen } from "../../components/invisibleChars";
import { AnswerButton } from "../AnswerButton";
import { FieldChanges, FieldsSection, NewFields } from "./FieldChanges";
import { PeerProcessLine } from "./PeerProcessLine";
import cardStyles from "../Card.module.css";
import styles from "./CommandRequestCard.module.css";

type Props = { request: CommandRequest; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** A program proposes a command. Everything that it would do is shown, and exactly that is run. */
export function CommandRequestCard({ request, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const { command, what, notes, changes, files, seenFrom } = request;
  const isNew = changes.every(({ before }) => before === null);
  return (
    <article className={cardStyles.card} aria-labelledby={title}>
      <header className={cardStyles.head}>
        <h2 id={title}>{t("ask.command", { command })}</h2>
        {place}
      </header>
      {seenFrom === null ? <p className="dim">{t("ask.notSeen")}</p> : <PeerProcessLine seen={seenFrom} />}
      {[what, ...notes].map((sentence, at) => (
        <p key={at}>
          <MarkedText text={seen(t.render(sentence))} />
        </p>
      ))}
      {changes.length > 0 && (
        <FieldsSection title={t("ask.command.fields")}>
          {isNew ? <NewFields changes={changes} /> : <FieldChanges changes={changes} />}
        </FieldsSection>
      )}
      {files.map(({ path, isNew: isNewFile, lines }) => {
        const label = t(isNewFile ? "ask.command.newFile" : "ask.command.file", { path: seen(path) });
        return (
          <section key={path} className={styles.file}>
            <h3>
              <MarkedText text={label} />
            </h3>
            <DiffView lines={lines} label={label} />
          </section>
        );
      })}
      <p className="dim">{t("ask.command.once")}</p>
      <div className={cardStyles.buttons}>
        <AnswerButton
          onPress={() => {
            onAnswer({ answer: "decline" });
          }}
        >
          {t("ask.command.decline")}
        </AnswerButton>
        <AnswerButton
          strong
          onPress={() => {
            onAnswer({ answer: "accept", content: null });
          }}
        >
          {t("ask.command.accept")}
        </AnswerButton>
      </div>
    </article>
  );
}
