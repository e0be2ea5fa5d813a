import { IconAlertTriangle } from "@tabler/icons-react";
import clsx from "clsx";
import { useState, type ReactNode } from "react";

import type { ApprovalAnswer, ElicitationRequest, UserError } from "../../generated/types";
import { useMessages } from "../../messages";
import { toUserError } from "../../platform/userError";
import { splitUrl } from "./urlParts";
import { MarkedText } from "../../components/MarkedText";
import { AnswerButton } from "../AnswerButton";
import { seen } from "../../components/invisibleChars";
import { ServerRequestCard } from "./ServerRequestCard";
import cardStyles from "../Card.module.css";
import styles from "./UrlCard.module.css";

type Props = {
  request: ElicitationRequest;
  url: string;
  host: string;
  /** Whether the call goes on only when the user is done there. */
  untilDone: boolean;
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: ApprovalAnswer) => void;
  /** Opens an address in the browser. */
  onLink: (address: string) => Promise<void>;
};

/** A server asks to open a URL. Shows the whole URL with its host emphasised. */
export function UrlCard({
  request: { server, client, message },
  url,
  host,
  untilDone,
  keys,
  place,
  onAnswer,
  onLink,
}: Props) {
  const t = useMessages();
  const [error, setError] = useState<UserError | null>(null);
  const [opened, setOpened] = useState(false);
  const address = splitUrl(url, host);
  const hints = [
    address.hasUser && t("ask.link.user", { host: address.host }),
    address.isForeign && t("ask.link.foreign", { host }),
    address.isOpen && t("ask.link.open"),
  ].filter((hint) => hint !== false);
  const open = () => {
    setError(null);
    onLink(url).then(
      () => {
        setOpened(true);
        if (!untilDone) onAnswer({ answer: "accept", content: null });
      },
      (thrown: unknown) => {
        setError(toUserError(thrown));
      },
    );
  };
  return (
    <ServerRequestCard
      title={t("ask.link", { name: server.name })}
      server={server}
      client={client}
      focus={keys}
      place={place}
      message={message}
      hint={opened && untilDone ? t("ask.link.goesOn") : t("ask.link.text", { server: server.name })}
      error={error}
      actions={
        <>
          <AnswerButton strong={!opened} onPress={open}>
            {t(opened ? "ask.link.openAgain" : "ask.link.openPage")}
          </AnswerButton>
          {opened && untilDone && (
            <AnswerButton
              strong
              onPress={() => {
                onAnswer({ answer: "accept", content: null });
              }}
            >
              {t("ask.link.done")}
            </AnswerButton>
          )}
        </>
      }
      onAnswer={onAnswer}
    >
      <p className={clsx(styles.url, "selectable")} aria-label={t("ask.link.address")}>
        <MarkedText text={seen(address.before)} />
        <strong>
          <MarkedText text={seen(address.host)} />
        </strong>
        <MarkedText text={seen(address.after)} />
      </p>
      {hints.length > 0 && (
        <ul className={cardStyles.warnings}>
          {hints.map((hint) => (
            <li key={hint}>
              <IconAlertTriangle size={15} aria-hidden /> {hint}
            </li>
          ))}
        </ul>
      )}
    </ServerRequestCard>
  );
}
