import { IconAlertTriangle } from "@tabler/icons-react";
import { useId, useState, type ReactNode } from "react";

import type { Answer, ElicitationAsk, Problem } from "../gen/types";
import { useMessages } from "../messages";
import { asProblem } from "../platform/problem";
import { addressOf } from "./address";
import { Marked } from "./Arguments";
import { AskButton } from "./AskButton";
import { AskedBy } from "./AskedBy";
import { seen } from "./fields";

type Props = {
  ask: ElicitationAsk;
  url: string;
  host: string;
  /** Whether the call goes on only when the user is done there. */
  untilDone: boolean;
  awake: boolean;
  keys: boolean;
  place?: ReactNode;
  onAnswer: (answer: Answer) => void;
  /** Opens an address in the browser. */
  onLink: (address: string) => Promise<void>;
};

/** A server wants a page to be opened. The whole address is there, with its host set off. */
export function LinkCard({ ask: { server, client, message }, url, host, untilDone, awake, keys, place, onAnswer, onLink }: Props) {
  const t = useMessages();
  const title = useId();
  const [problem, setProblem] = useState<Problem | null>(null);
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
    <article className="ask" aria-labelledby={title}>
      <AskedBy
        id={title}
        title={t("ask.link", { name: server.name })}
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
      <div className="ask-foot">
        <p className="ask-hint" role="status">
          {opened && untilDone ? t("ask.link.goesOn") : t("ask.link.text", { server: server.name })}
        </p>
        {problem && (
          <p className="ask-problem" role="alert">
            {[problem.what, problem.why, problem.todo].filter(Boolean).join(" ")}
          </p>
        )}
        <div className="ask-buttons">
          <AskButton awake={awake} onPress={() => { onAnswer({ answer: "decline" }); }}>
            {t("ask.decline")}
          </AskButton>
          <span className="ask-pair">
            <AskButton awake={awake} strong={!opened} onPress={open}>
              {t(opened ? "ask.link.openAgain" : "ask.link.openPage")}
            </AskButton>
            {opened && untilDone && (
              <AskButton awake={awake} strong onPress={() => { onAnswer({ answer: "accept", content: null }); }}>
                {t("ask.link.done")}
              </AskButton>
            )}
          </span>
        </div>
      </div>
    </article>
  );
}
