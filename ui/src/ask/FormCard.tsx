import { useRef, useState, type ReactNode } from "react";

import type { ApprovalAnswer, ElicitationRequest } from "../generated/types";
import { useMessages } from "../messages";
import { AnswerShortcuts } from "../approvals/AnswerShortcuts";
import { AnswerButton } from "../approvals/AnswerButton";
import { FormField } from "./FormField";
import { contentOf, faultsOf, fieldsOf, firstValues } from "./fields";
import { ServerRequestCard } from "../approvals/cards/ServerRequestCard";

type Props = {
  ask: ElicitationRequest;
  schema: string;
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** A server asks for something in a form. */
export function FormCard({ ask: { server, client, message }, schema, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const [fields] = useState(() => fieldsOf(schema));
  const [values, setValues] = useState(() => firstValues(fields ?? []));
  const [tried, setTried] = useState(false);
  const faults = faultsOf(fields ?? [], values);
  const send = () => {
    if (!fields) return;
    setTried(true);
    if (faults.size === 0) {
      onAnswer({ answer: "accept", content: contentOf(fields, values) });
      return;
    }
    const wrong = fields.findIndex(({ name }) => faults.has(name));
    area.current?.children[wrong]?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  };
  return (
    <ServerRequestCard
      title={t("ask.other", { name: server.name })}
      server={server}
      client={client}
      focus={keys}
      place={place}
      message={message}
      hint={t("ask.form.goesTo", { server: server.name })}
      actions={
        fields !== null && (
          <AnswerButton strong onPress={send}>
            {t("ask.send")}
          </AnswerButton>
        )
      }
      onAnswer={onAnswer}
    >
      <AnswerShortcuts on={keys} onAllow={send} />
      {fields === null ? (
        <p className="ask-hint">{t("ask.form.cannot")}</p>
      ) : (
        <div className="ask-fields" ref={area}>
          {fields.map((field) => (
            <FormField
              key={field.name}
              field={field}
              value={values[field.name] ?? ""}
              fault={tried ? faults.get(field.name) : undefined}
              onChange={(value) => {
                setValues((before) => ({ ...before, [field.name]: value }));
              }}
            />
          ))}
        </div>
      )}
    </ServerRequestCard>
  );
}
