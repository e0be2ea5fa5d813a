import { IconX } from "@tabler/icons-react";
import clsx from "clsx";
import { useContext, useEffect, useId, useRef, type ReactNode } from "react";

import type { ApprovalAnswer, ClientSummary, ServerSummary, UserError } from "../../generated/types";
import { useMessages } from "../../messages";
import { userErrorLine } from "../../messages/userError";
import { MarkedText } from "../../components/MarkedText";
import { AnswerButton } from "../AnswerButton";
import { AnswerGuardContext } from "../AnswerGuardContext";
import { ServerSummaryLine } from "./ServerSummaryLine";
import cardStyles from "../Card.module.css";

type Props = {
  title: string;
  server: ServerSummary;
  client: ClientSummary | null;
  /** Whether the keyboard begins here. */
  focus: boolean;
  place?: ReactNode;
  /** What the server says. */
  message?: string;
  /** What it is asked for. */
  children?: ReactNode;
  /** What to know before answering; heard when it changes. */
  hint: string;
  error?: UserError | null;
  /** The ways to say yes. */
  actions?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** The layout of all requests by servers: who asks, its message, and the buttons to decline. */
export function ServerRequestCard({
  title,
  server,
  client,
  focus,
  place,
  message,
  children,
  hint,
  error,
  actions,
  onAnswer,
}: Props) {
  const t = useMessages();
  const awake = useContext(AnswerGuardContext);
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (focus) heading.current?.focus({ preventScroll: true });
  }, [focus]);
  return (
    <article className={cardStyles.card} aria-labelledby={id}>
      <header className={cardStyles.head}>
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <span className={cardStyles.corner}>
          {place}
          <button
            type="button"
            className={cardStyles.iconButton}
            aria-label={t("ask.cancel")}
            title={t("ask.cancel")}
            aria-disabled={!awake}
            onClick={() => {
              if (awake) onAnswer({ answer: "cancel" });
            }}
          >
            <IconX size={16} aria-hidden />
          </button>
        </span>
      </header>
      <ServerSummaryLine server={server}>
        {client === null
          ? t("ask.byServer", { server: server.name })
          : t("ask.byServerFor", { server: server.name, client: client.name })}
      </ServerSummaryLine>
      {message !== undefined && (
        <p className={clsx(cardStyles.message, "selectable")}>
          <MarkedText text={message} />
        </p>
      )}
      {children}
      <div className={cardStyles.foot}>
        <p className={cardStyles.hint} role="status">
          {hint}
        </p>
        {error && (
          <p className={cardStyles.error} role="alert">
            {userErrorLine(t, error)}
          </p>
        )}
        <div className={cardStyles.buttons}>
          <AnswerButton
            onPress={() => {
              onAnswer({ answer: "decline" });
            }}
          >
            {t("ask.decline")}
          </AnswerButton>
          {actions && <span className={cardStyles.pair}>{actions}</span>}
        </div>
      </div>
    </article>
  );
}
