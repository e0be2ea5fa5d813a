import clsx from "clsx";
import { useId, useState, type ReactNode } from "react";

import type { ApprovalAnswer, SamplingRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { AnswerShortcuts } from "../AnswerShortcuts";
import { MarkedText } from "../../components/MarkedText";
import { AnswerButton } from "../AnswerButton";
import { seen } from "../../components/invisibleChars";
import { ServerRequestCard } from "./ServerRequestCard";
import fieldStyles from "../Field.module.css";
import styles from "./SamplingCard.module.css";

type Props = { request: SamplingRequest; keys: boolean; place?: ReactNode; onAnswer: (answer: ApprovalAnswer) => void };

/** What a person writes in a model's place, as the protocol has it. */
function samplingContent(text: string): string {
  return JSON.stringify({ role: "assistant", content: { type: "text", text }, model: "user", stopReason: "endTurn" });
}

/** A server wants a model's answer. No model is asked here: the user writes one, or declines. */
export function SamplingCard({ request: { server, client, system, messages }, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const field = useId();
  const [text, setText] = useState("");
  const [tried, setTried] = useState(false);
  const isEmpty = text.trim() === "";
  const send = () => {
    setTried(true);
    if (!isEmpty) onAnswer({ answer: "accept", content: samplingContent(text) });
  };
  return (
    <ServerRequestCard
      title={t("ask.sampling", { name: server.name })}
      server={server}
      client={client}
      focus={keys}
      place={place}
      hint={t("ask.sampling.goesTo", { server: server.name })}
      actions={
        <AnswerButton strong onPress={send}>
          {t("ask.send")}
        </AnswerButton>
      }
      onAnswer={onAnswer}
    >
      <AnswerShortcuts on={keys} onAllow={send} />
      <div
        className={clsx(styles.messages, "selectable")}
        tabIndex={0}
        role="group"
        aria-label={t("ask.sampling.messages")}
      >
        {system !== null && (
          <div>
            <h3>{t("ask.sampling.system")}</h3>
            <p>
              <MarkedText text={seen(system)} />
            </p>
          </div>
        )}
        <div>
          {system !== null && <h3>{t("ask.sampling.messages")}</h3>}
          {messages.map((message, at) => (
            <p key={at}>
              <MarkedText text={seen(message)} />
            </p>
          ))}
        </div>
      </div>
      <div className={fieldStyles.field}>
        <label htmlFor={field}>{t("ask.sampling.answer")}</label>
        <textarea
          id={field}
          className={fieldStyles.input}
          rows={4}
          aria-describedby={`${field}-said`}
          aria-invalid={tried && isEmpty}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
          }}
        />
        <span id={`${field}-said`} className={fieldStyles.notes}>
          {tried && isEmpty && (
            <span className={fieldStyles.error} role="alert">
              {t("fault.needed")}
            </span>
          )}
        </span>
      </div>
    </ServerRequestCard>
  );
}
