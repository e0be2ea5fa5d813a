import { useId, useState } from "react";

import type { Answer, CallAsk } from "../gen/types";
import { useMessages } from "../messages";
import { chosen, denials, denyAtFirst } from "./choices";
import { Choices } from "./Choices";
import { Panel } from "./Panel";
import { denialSentence } from "./words";

type Props = { call: CallAsk; onAnswer: (answer: Answer) => void; onBack: () => void };

/** Deny with a reason that the model reads, and for more than this call. */
export function DenyPanel({ call, onAnswer, onBack }: Props) {
  const t = useMessages();
  const offered = denials(call);
  const [picked, setPicked] = useState(denyAtFirst);
  const [reason, setReason] = useState("");
  const field = useId();
  const choice = chosen(offered, picked);
  return (
    <Panel
      label={t("ask.denyMore")}
      deed={choice && denialSentence(t, choice, call)}
      onDo={() => {
        const text = reason.trim();
        if (choice) onAnswer({ answer: "deny", choice, reason: text === "" ? null : text });
      }}
      onBack={onBack}
    >
      <div className="ask-field">
        <label htmlFor={field} className="ask-label">
          {t("ask.reasonLabel")}
        </label>
        <textarea
          id={field}
          className="ask-reason"
          rows={2}
          maxLength={2000}
          value={reason}
          placeholder={t("ask.reasonHint")}
          onChange={(event) => {
            setReason(event.currentTarget.value);
          }}
        />
      </div>
      <Choices call={call} offered={offered} picked={picked} onPick={setPicked} />
    </Panel>
  );
}
