import { IconAlertTriangle } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

import type { ApprovalAnswer, ElicitationRequest, UserError } from "../../generated/types";
import { useMessages } from "../../messages";
import { asProblem } from "../../platform/userError";
import { addressOf } from "./urlParts";
import { Marked } from "../arguments/MarkedText";
import { AskButton } from "../AnswerButton";
import { seen } from "../../ask/fields";
import { RequestCard } from "./ServerRequestCard";

type Props = {
  ask: ElicitationRequest;
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

/** A server wants a page to be opened. The whole address is there, with its host set off. */
export function LinkCard({ ask: { server, client, message }, url, host, untilDone, keys, place, onAnswer, onLink }: Props) {
  const t = useMessages();
  const [problem, setProblem] = useState<UserError | null>(null);
  const [opened, setOpened] = useState(false);
  const address = addressOf(url, host);
  const hints = [
    address.hasUser && t("ask.link.user", { host: address.host }),
    address.isForeign && t("ask.link.foreign", { host }),
    address.isOpen && t("ask.link.open"),
  ].filter((hint) => hint !== false);
  const open = () => {
    setProblem(null);
    onLink(url).then(
      () => {
        setOpened(true);
        if (!untilDone) onAnswer({ answer: "accept", content: null });
      },
      (thrown: unknown) => {
        setProblem(asProblem(thrown));
      },
    );
  };
  return (
    <RequestCard
      title={t("ask.link", { name: server.name })}
      server={server}
      client={client}
      focus={keys}
      place={place}
      message={message}
      hint={opened && untilDone ? t("ask.link.goesOn") : t("ask.link.text", { server: server.name })}
      problem={problem}
      actions={
        <>
          <AskButton strong={!opened} onPress={open}>
            {t(opened ? "ask.link.openAgain" : "ask.link.openPage")}
          </AskButton>
          {opened && untilDone && (
            <AskButton strong onPress={() => { onAnswer({ answer: "accept", content: null }); }}>
              {t("ask.link.done")}
            </AskButton>
          )}
        </>
      }
      onAnswer={onAnswer}
    >
      <p className="ask-address selectable" aria-label={t("ask.link.address")}>
        <Marked text={seen(address.before)} />
        <strong>
          <Marked text={seen(address.host)} />
        </strong>
        <Marked text={seen(address.after)} />
      </p>
      {hints.length > 0 && (
        <ul className="ask-warnings">
          {hints.map((hint) => (
            <li key={hint}>
              <IconAlertTriangle size={15} aria-hidden /> {hint}
            </li>
          ))}
        </ul>
      )}
    </RequestCard>
  );
}
