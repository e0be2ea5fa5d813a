import clsx from "clsx";
import { useContext, useId, useState, type ReactNode } from "react";

import { useLatestRun } from "../../core/useLatestRun";
import { useRunNames } from "../../core/useRunNames";
import type { ApprovalAnswer, ApprovalId, SamplingDraft, SamplingRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { AnswerShortcuts } from "../AnswerShortcuts";
import { MarkedText } from "../../components/MarkedText";
import { AnswerButton } from "../AnswerButton";
import { ApprovalModelsContext } from "../ApprovalModelsContext";
import { seen } from "../../components/invisibleChars";
import { SamplingDraftRow } from "./SamplingDraftRow";
import { ServerRequestCard } from "./ServerRequestCard";
import fieldStyles from "../Field.module.css";
import styles from "./SamplingCard.module.css";

type Props = {
  id: ApprovalId;
  /** The model that can write the answer, where the user chose one. */
  model: string | null;
  request: SamplingRequest;
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** What stands in a model's place, as the protocol has it; `model` wrote it, or the user did. */
function samplingContent(text: string, model: string): string {
  return JSON.stringify({ role: "assistant", content: { type: "text", text }, model, stopReason: "endTurn" });
}

const nobody = () => undefined;

/**
 * A server wants a model's answer. The user writes one, lets a model of their own write one to check it and change it, or
 * declines. Only the user sends it.
 */
export function SamplingCard({
  id,
  model,
  request: { server, client, system, messages },
  keys,
  place,
  onAnswer,
}: Props) {
  const t = useMessages();
  const field = useId();
  const models = useContext(ApprovalModelsContext);
  const { latest, run, forget } = useLatestRun<SamplingDraft>(useRunNames(models?.stop ?? nobody));
  const [text, setText] = useState("");
  const [draft, setDraft] = useState<SamplingDraft | null>(null);
  const [tried, setTried] = useState(false);
  const isEmpty = text.trim() === "";
  const isWritten = draft !== null && text === draft.text;
  const generate = () => {
    if (!models) return;
    void run((name) => models.generate(id, name)).then((written) => {
      if (written === null) return;
      setDraft(written);
      setText(written.text);
      setTried(false);
    });
  };
  const send = () => {
    if (latest.running) return;
    setTried(true);
    if (isEmpty) return;
    const content = isWritten ? draft.content : samplingContent(text, draft?.model ?? "user");
    onAnswer({ answer: "accept", content });
  };
  return (
    <ServerRequestCard
      title={t("ask.sampling", { name: server.name })}
      server={server}
      client={client}
      focus={keys}
      place={place}
      hint={t(model === null ? "ask.sampling.goesTo" : "ask.sampling.youSend", { server: server.name })}
      error={latest.error}
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
        <label htmlFor={field}>{t(draft === null ? "ask.sampling.answer" : "ask.sampling.response")}</label>
        <textarea
          id={field}
          className={fieldStyles.input}
          rows={4}
          aria-describedby={`${field}-said`}
          aria-invalid={tried && isEmpty}
          readOnly={latest.running}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            // An emptied field is the user's own again.
            if (event.currentTarget.value === "") setDraft(null);
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
      {models && model !== null && (
        <SamplingDraftRow
          model={draft?.model ?? model}
          running={latest.running}
          text={isEmpty ? "none" : isWritten ? "written" : draft === null ? "own" : "edited"}
          toolsLeftOut={draft?.toolsLeftOut === true}
          onGenerate={generate}
          onStop={forget}
        />
      )}
    </ServerRequestCard>
  );
}
