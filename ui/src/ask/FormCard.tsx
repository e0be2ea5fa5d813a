import { useId, useRef, useState, type ReactNode } from "react";

import type { Answer, ElicitationAsk } from "../gen/types";
import { useMessages } from "../messages";
import { Marked } from "./Arguments";
import { AskButton } from "./AskButton";
import { AskedBy } from "./AskedBy";
import { FormField } from "./FormField";
import { contentOf, faultsOf, fieldsOf, firstValues } from "./fields";
import { useAnswerKeys } from "./useAnswerKeys";

type Props = { ask: ElicitationAsk; schema: string; awake: boolean; keys: boolean; place?: ReactNode; onAnswer: (answer: Answer) => void };

/** A server asks for something in a form. */
export function FormCard({ ask: { server, client, message }, schema, awake, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const title = useId();
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
  useAnswerKeys(keys && awake, send);
  return (
    <article className="ask" aria-labelledby={title}>
      <AskedBy
        id={title}
        title={t("ask.other", { name: server.name })}
        server={server}
        client={client}
        awake={awake}
        focus={keys}
        place={place}
        onCancel={() => { onAnswer({ answer: "cancel" }); }}
      />
      <p className="ask-message selectable">
        <Marked text={message} />
      </p>
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
      <div className="ask-foot">
        <p className="ask-hint">{t("ask.form.goesTo", { server: server.name })}</p>
        <div className="ask-buttons">
          <AskButton awake={awake} onPress={() => { onAnswer({ answer: "decline" }); }}>
            {t("ask.decline")}
          </AskButton>
          {fields !== null && (
            <AskButton awake={awake} strong onPress={send}>
              {t("ask.send")}
            </AskButton>
          )}
        </div>
      </div>
    </article>
  );
}
