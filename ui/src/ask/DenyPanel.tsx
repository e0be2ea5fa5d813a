import { useId, useState } from "react";

import type { Answer, CallAsk, GrantChoice } from "../gen/types";
import { useMessages } from "../messages";
import { AskButton } from "./AskButton";
import { Choice } from "./Choice";

type Scope = "call" | "tool" | "client";

type Props = { call: CallAsk; awake: boolean; onAnswer: (answer: Answer) => void; onBack: () => void };

const scopes: Record<Scope, GrantChoice> = {
  call: { lifetime: "once", width: "call", everyClient: false, conditions: [] },
  tool: { lifetime: "always", width: "tool", everyClient: true, conditions: [] },
  client: { lifetime: "until_quit", width: "client", everyClient: false, conditions: [] },
};

/** Deny with a reason that the model reads, and for more than this call. */
export function DenyPanel({ call, awake, onAnswer, onBack }: Props) {
  const t = useMessages();
  const [scope, setScope] = useState<Scope>("call");
  const [reason, setReason] = useState("");
  const field = useId();
  return (
    <section className="ask-panel">
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
      <Choice
        label={t("ask.denyScope")}
        options={[
          ["call", t("ask.denyCall")],
          ["tool", t("ask.denyTool", { server: call.server.name, title: call.title })],
          ["client", t("ask.denyClient", { client: call.client.name })],
        ]}
        value={scope}
        onChange={setScope}
      />
      <div className="ask-buttons">
        <button type="button" className="ask-button" onClick={onBack}>
          {t("ask.back")}
        </button>
        <AskButton
          awake={awake}
          strong
          onPress={() => {
            const text = reason.trim();
            onAnswer({ answer: "deny", choice: scopes[scope], reason: text === "" ? null : text });
          }}
        >
          {t("ask.deny")}
        </AskButton>
      </div>
    </section>
  );
}
