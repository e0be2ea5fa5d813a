import { IconAlertTriangle } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useId, useRef, type ReactNode } from "react";

import type { ApprovalAnswer, ClientAccessRequest } from "../../generated/types";
import { useMessages } from "../../messages";
import { MarkedText } from "../../components/MarkedText";
import { seen } from "../../components/invisibleChars";
import { AnswerButton } from "../AnswerButton";
import { AnswerShortcuts } from "../AnswerShortcuts";
import { PeerProcessLine } from "./PeerProcessLine";
import cardStyles from "../Card.module.css";
import styles from "./ClientAccessCard.module.css";

type Props = {
  request: ClientAccessRequest;
  /** Whether the keyboard begins here. */
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** An unknown client asks for access. What it says of itself is shown as such, and where the answer goes in full. */
export function ClientAccessCard({ request, keys, place, onAnswer }: Props) {
  const t = useMessages();
  const { says, clientId, redirectUri, server, knownAs, resembles, seenFrom, receiver } = request;
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (keys) heading.current?.focus({ preventScroll: true });
  }, [keys]);
  const allow = () => {
    onAnswer({ answer: "accept", content: null });
  };
  const deny = () => {
    onAnswer({ answer: "decline" });
  };
  const warnings = [
    knownAs !== null && t("ask.access.known", { name: knownAs }),
    resembles !== null && t("ask.access.resembles", { name: resembles }),
    receiver === null && t("ask.access.noReceiver"),
  ].filter((warning) => warning !== false);
  return (
    <article className={cardStyles.card} aria-labelledby={id}>
      <AnswerShortcuts on={keys} onAllow={allow} onDeny={deny} />
      <header className={cardStyles.head}>
        <h2 id={id} ref={heading} tabIndex={-1}>
          <MarkedText text={t("ask.access", { name: seen(says) })} />
        </h2>
        {place}
      </header>
      <p className="dim">{t("ask.access.unverified")}</p>
      {warnings.length > 0 && (
        <ul className={cardStyles.warnings}>
          {warnings.map((warning) => (
            <li key={warning}>
              <IconAlertTriangle size={15} aria-hidden /> {warning}
            </li>
          ))}
        </ul>
      )}
      <dl className={clsx(styles.facts, "selectable")}>
        <dt>{t("ask.access.wants")}</dt>
        <dd>{server === null ? t("ask.access.allServers") : <MarkedText text={seen(server)} />}</dd>
        <dt>{t("ask.access.redirect")}</dt>
        <dd>
          <code>
            <MarkedText text={seen(redirectUri)} />
          </code>
        </dd>
        {receiver && (
          <>
            <dt>{t("ask.access.receiver")}</dt>
            <dd>
              <PeerProcessLine seen={receiver} />
            </dd>
          </>
        )}
        {seenFrom && (
          <>
            <dt>{t("ask.access.opened")}</dt>
            <dd>
              <PeerProcessLine seen={seenFrom} />
            </dd>
          </>
        )}
        <dt>{t("ask.access.id")}</dt>
        <dd>
          <code>
            <MarkedText text={seen(clientId)} />
          </code>
        </dd>
      </dl>
      <div className={cardStyles.foot}>
        <p className={cardStyles.hint} role="status">
          {t("ask.access.hint")}
        </p>
        <div className={cardStyles.buttons}>
          <AnswerButton onPress={deny}>{t("ask.deny")}</AnswerButton>
          <span className={cardStyles.pair}>
            <AnswerButton strong onPress={allow}>
              {t("ask.allow")}
            </AnswerButton>
          </span>
        </div>
      </div>
    </article>
  );
}
