import { useId, useState, type ReactNode } from "react";

import type { Answer, SamplingAsk } from "../gen/types";
import { useMessages } from "../messages";
import { Marked } from "./Arguments";
import { AskButton } from "./AskButton";
import { AskedBy } from "./AskedBy";
import { seen } from "./fields";
import { useAnswerKeys } from "./useAnswerKeys";

type Props = { ask: SamplingAsk; awake: boolean; keys: boolean; place?: ReactNode; onAnswer: (answer: Answer) => void };

/** What a person writes in a model's place, as the protocol has it. */
export function samplingContent(text: string): string {
  return JSON.stringify({ role: "assistant", content: { type: "text", text }, model: "user", stopReason: "endTurn" });
}

/** A server wants a model's answer. No model is asked here: the user writes one, or declines. */
export function SamplingCard({ ask: { server, client, system, messages }, awake, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
  const field = useId();
  const [text, setText] = useState("");
  const [tried, setTried] = useState(false);
  const isEmpty = text.trim() === "";
  const send = () => {
    setTried(true);
    if (!isEmpty) onAnswer({ answer: "accept", content: samplingContent(text) });
  };
  useAnswerKeys(keys && awake, send);
  return (
    <article className="ask" aria-labelledby={title}>
      <AskedBy
        id={title}
        title={t("ask.sampling", { name: server.name })}
        server={server}
        client={client}
        awake={awake}
        focus={keys}
        place={place}
        onCancel={() => { onAnswer({ answer: "cancel" }); }}
      />
      <div className="ask-talk selectable" tabIndex={0} role="group" aria-label={t("ask.sampling.messages")}>
        {system !== null && (
          <div>
            <h3>{t("ask.sampling.system")}</h3>
            <p>
              <Marked text={seen(system)} />
            </p>
          </div>
        )}
        <div>
          {system !== null && <h3>{t("ask.sampling.messages")}</h3>}
          {messages.map((message, at) => (
            <p key={at}>
              <Marked text={seen(message)} />
            </p>
          ))}
        </div>
      </div>
      <div className="ask-field">
        <label htmlFor={field}>{t("ask.sampling.answer")}</label>
        <textarea
          id={field}
          className="ask-input"
          rows={4}
          aria-describedby={`${field}-said`}
          aria-invalid={tried && isEmpty}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
          }}
        />
        <span id={`${field}-said`} className="ask-field-said">
          {tried && isEmpty && (
            <span className="ask-fault" role="alert">
              {t("fault.needed")}
            </span>
          )}
        </span>
      </div>
      <div className="ask-foot">
        <p className="ask-hint">{t("ask.sampling.goesTo", { server: server.name })}</p>
        <div className="ask-buttons">
          <AskButton awake={awake} onPress={() => { onAnswer({ answer: "decline" }); }}>
            {t("ask.decline")}
          </AskButton>
          <AskButton awake={awake} strong onPress={send}>
            {t("ask.send")}
          </AskButton>
        </div>
      </div>
    </article>
  );
}
