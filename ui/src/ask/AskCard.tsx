import { IconAlertTriangle, IconEye, IconPencil, IconServer2 } from "@tabler/icons-react";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";

import type { Answer, CallAsk, GrantChoice, PendingAsk } from "../gen/types";
import { useMessages } from "../messages";
import { useNow } from "../parts/useNow";
import { AllowPanel } from "./AllowPanel";
import { Arguments } from "./Arguments";
import { AskButton } from "./AskButton";
import { Changes } from "./Changes";
import { lasting } from "./choices";
import { DenyPanel } from "./DenyPanel";
import { useAnswerKeys } from "./useAnswerKeys";
import { choiceSentence, clock, keepsFromAlways, reasonWords, warningWords } from "./words";

type Props = {
  pending: PendingAsk;
  call: CallAsk;
  /** Whether the buttons take clicks yet. */
  awake: boolean;
  /** Shown beside the client's name: the place in the queue, and the way to the others. */
  place?: ReactNode;
  /** Answers to several calls at once, where that is possible. */
  group?: ReactNode;
  /** Whether Ctrl Enter and Ctrl Backspace answer this card. */
  keys: boolean;
  onAnswer: (answer: Answer) => void;
};

const once: GrantChoice = { lifetime: "once", width: "call", everyClient: false, conditions: [] };

/** The question whether a call may run: all that there is to know, and every answer that is offered. */
export function AskCard({ pending, call, awake, place, group, keys, onAnswer }: Props) {
  const t = useMessages();
  const [panel, setPanel] = useState<"none" | "allow" | "deny">("none");
  const title = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  const { client, server } = call;

  // Somebody who hears the page instead of seeing it begins here, and no button is under Enter.
  useEffect(() => {
    if (keys) heading.current?.focus({ preventScroll: true });
  }, [keys, pending.id]);

  const allow = (choice: GrantChoice) => {
    onAnswer({ answer: "allow", choice });
  };
  const deny = () => {
    onAnswer({ answer: "deny", choice: once, reason: null });
  };
  useAnswerKeys(keys && awake && panel === "none", () => { allow(once); }, deny);

  const reads = call.choices.find(
    ({ lifetime, width, everyClient }) => lifetime === "until_quit" && width === "reads" && !everyClient,
  );
  const trustedRead = reads !== undefined && call.class.reason.by === "trusted_label";
  const more = lasting(call.choices).length > 0;
  return (
    <article className="ask" aria-labelledby={title}>
      <header className="ask-head">
        <div className="ask-who">
          <strong>{client.name}</strong> <span className="ask-dim">{t("ask.wants")}</span>
          {client.says !== null && <span className="ask-small">{t("ask.says", { says: client.says })}</span>}
          {client.seenFrom !== null && (
            <span className="ask-small">{t("ask.seenFrom", { program: client.seenFrom })}</span>
          )}
        </div>
        {place}
      </header>
      <div className="ask-what">
        <h2 id={title} ref={heading} tabIndex={-1} aria-label={t("ask.question", { client: client.name, title: call.title, server: server.name })}>
          {call.title}
        </h2>
        <span className="ask-where" title={server.description ?? undefined}>
          <IconServer2 size={14} aria-hidden /> {server.name} · <code>{call.exposedName}</code>
        </span>
      </div>
      <p className={`ask-class ask-class-${call.class.class}`}>
        {call.class.class === "read" ? <IconEye size={16} aria-hidden /> : <IconPencil size={16} aria-hidden />}
        <strong>{t(`ask.class.${call.class.class}`)}</strong>
        <span className="ask-dim">({t("ask.because", { reason: reasonWords(t, call.class.reason) })})</span>
        {call.class.reachesOutside && <span className="ask-tag">{t("ask.outside")}</span>}
      </p>
      {call.changes.length > 0 && <Changes changes={call.changes} />}
      <Arguments shown={call.arguments} />
      {call.warnings.length > 0 && (
        <ul className="ask-warnings">
          {call.warnings.map((warning) => (
            <li key={JSON.stringify(warning)}>
              <IconAlertTriangle size={15} aria-hidden /> {warningWords(t, warning)}
            </li>
          ))}
          {call.warnings.some(keepsFromAlways) && <li className="ask-dim">{t("ask.noAlways")}</li>}
        </ul>
      )}
      {panel === "allow" && (
        <AllowPanel call={call} awake={awake} onAllow={allow} onBack={() => { setPanel("none"); }} />
      )}
      {panel === "deny" && (
        <DenyPanel call={call} awake={awake} onAnswer={onAnswer} onBack={() => { setPanel("none"); }} />
      )}
      {panel === "none" && (
        <div className="ask-buttons">
          <span className="ask-pair">
            <AskButton awake={awake} onPress={deny}>
              {t("ask.deny")}
            </AskButton>
            <AskButton awake={awake} label={t("ask.denyMore")} onPress={() => { setPanel("deny"); }}>
              ▾
            </AskButton>
          </span>
          <span className="ask-pair">
            {trustedRead && (
              <AskButton
                awake={awake}
                label={choiceSentence(t, reads, call)}
                onPress={() => {
                  allow(reads);
                }}
              >
                {t("ask.readsUntilQuit")}
              </AskButton>
            )}
            <AskButton awake={awake} strong onPress={() => { allow(once); }}>
              {pending.waiting ? t("ask.allowOnce") : t("ask.allowNext")}
            </AskButton>
            {more && (
              <AskButton awake={awake} strong label={t("ask.allowMore")} onPress={() => { setPanel("allow"); }}>
                ▾
              </AskButton>
            )}
          </span>
        </div>
      )}
      {group}
      <Patience pending={pending} call={call} />
    </article>
  );
}

/** How long the client still waits. */
function Patience({ pending, call }: { pending: PendingAsk; call: CallAsk }) {
  const t = useMessages();
  const now = useNow(1000);
  const client = call.client.name;
  if (!pending.waiting) return <p className="ask-patience">{t("ask.ticket", { client })}</p>;
  if (call.clientWaitsUntil === null) return null;
  return (
    <p className="ask-patience" role="timer">
      {t("ask.waits", { client, time: clock(call.clientWaitsUntil - now) })}
    </p>
  );
}
