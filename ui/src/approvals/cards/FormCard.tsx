import { lazy, Suspense, useRef, useState, type ReactNode } from "react";

import type { ElicitationHandle } from "../../forms/ElicitationForm";
import { readElicitation } from "../../forms/elicitationSchema";
import type { ApprovalAnswer, ElicitationRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { AnswerShortcuts } from "../AnswerShortcuts";
import { AnswerButton } from "../AnswerButton";
import { ServerRequestCard } from "./ServerRequestCard";
import styles from "./FormCard.module.css";

type Props = {
  request: ElicitationRequest;
  schema: string;
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** Brings what makes forms of schemas, which approvals of calls do not need. */
const ElicitationForm = lazy(() => import("../../forms/ElicitationForm"));

/** A server asks for something in a form. */
export function FormCard({ request: { server, client, message }, schema, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const form = useRef<ElicitationHandle>(null);
  const [elicitation] = useState(() => readElicitation(schema));
  const send = () => {
    // Before the form is there, there is nothing to send.
    const content = form.current?.content() ?? null;
    if (content !== null) onAnswer({ answer: "accept", content });
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
        elicitation !== null && (
          <AnswerButton strong onPress={send}>
            {t("ask.send")}
          </AnswerButton>
        )
      }
      onAnswer={onAnswer}
    >
      <AnswerShortcuts on={keys} onAllow={send} />
      {elicitation === null ? (
        <p className={styles.hint}>{t("ask.form.cannot")}</p>
      ) : (
        <div className={styles.fields} hidden={Object.keys(elicitation.schema.properties ?? {}).length === 0}>
          <Suspense>
            <ElicitationForm elicitation={elicitation} handle={form} />
          </Suspense>
        </div>
      )}
    </ServerRequestCard>
  );
}
