import { useId, useState } from "react";

import type { ApprovalAnswer, CallApprovalRequest } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { selectedGrant, initialDenial } from "./grantChoices";
import { GrantOptions } from "./GrantOptions";
import { AnswerPanel } from "./AnswerPanel";
import fieldStyles from "../Field.module.css";

type Props = { call: CallApprovalRequest; onAnswer: (answer: ApprovalAnswer) => void; onBack: () => void };

/** Deny with a reason for the model, and optionally for more than this call. */
export function DenyPanel({ call, onAnswer, onBack }: Props) {
  const t = useMessages();
  const render = useRender();
  const offered = call.denials;
  const [picked, setPicked] = useState(initialDenial);
  const [reason, setReason] = useState("");
  const field = useId();
  const denial = selectedGrant(offered, picked, call.conditions);
  return (
    <AnswerPanel
      label={t("ask.denyMore")}
      deed={denial && render(denial.sentence)}
      onDo={() => {
        const text = reason.trim();
        if (denial) onAnswer({ answer: "deny", choice: denial.choice, reason: text === "" ? null : text });
      }}
      onBack={onBack}
    >
      <div className={fieldStyles.field}>
        <label htmlFor={field} className={fieldStyles.label}>
          {t("ask.reasonLabel")}
        </label>
        <textarea
          id={field}
          className={fieldStyles.reason}
          rows={2}
          maxLength={2000}
          value={reason}
          placeholder={t("ask.reasonHint")}
          onChange={(event) => {
            setReason(event.currentTarget.value);
          }}
        />
      </div>
      <GrantOptions call={call} offered={offered} picked={picked} onPick={setPicked} />
    </AnswerPanel>
  );
}
