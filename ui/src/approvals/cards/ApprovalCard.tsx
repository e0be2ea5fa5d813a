import { IconAlertTriangle, IconEye, IconPencil } from "@tabler/icons-react";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";

import type { ApprovalAnswer, CallApprovalRequest, GrantChoice, PendingApproval } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { useNow } from "../../components/useNow";
import { AllowPanel } from "../grants/AllowPanel";
import { AnswerKeys } from "../AnswerShortcuts";
import { Arguments } from "../arguments/CallArguments";
import { AskButton } from "../AnswerButton";
import { Changes } from "./DefinitionChanges";
import { choiceOf, lasting, once } from "../grants/grantChoices";
import { DenyPanel } from "../grants/DenyPanel";
import { SeenFrom } from "./PeerProcessLine";
import { ServerLine } from "./ServerSummaryLine";
import { clock, keepsFromAlways, reasonWords, warningWords } from "../labels";

type Props = {
  pending: PendingApproval;
  call: CallApprovalRequest;
  /** Shown beside the client's name: the place in the queue, and the way to the others. */
  place?: ReactNode;
  /** Answers to several calls at once, where that is possible. */
  group?: ReactNode;
  /** Whether Ctrl Enter and Ctrl Backspace answer this card. */
  keys: boolean;
  /** Changes when what was revealed has to be hidden again. */
  veil: number;
  onAnswer: (answer: ApprovalAnswer) => void;
  /** Gives one argument without its mask. */
  onReveal: (argument: number) => Promise<string>;
};

/** The question whether a call may run: all that there is to know, and every answer that is offered. */
export function AskCard({ pending, call, place, group, keys, veil, onAnswer, onReveal }: Props) {
  const t = useMessages();
  const render = useRender();
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
  const back = () => {
    setPanel("none");
    heading.current?.focus({ preventScroll: true });
  };

  const reads = call.choices.find(
    ({ lifetime, width, everyClient }) => lifetime === "until_quit" && width === "reads" && !everyClient,
  );
  const trustedRead = reads !== undefined && call.class.reason.by === "trusted_label";
  const more = lasting(call.choices).length > 0;
  return (
    <article className="ask" aria-labelledby={title}>
      <AnswerKeys on={keys && panel === "none"} onAllow={() => { allow(once); }} onDeny={deny} />
      <header className="ask-head">
        <div className="ask-who">
          <strong>{client.name}</strong> <span className="ask-dim">{t("ask.wants")}</span>
          {client.says !== null && <span className="ask-small">{t("ask.says", { says: client.says })}</span>}
          {client.seenFrom === null ? <span className="ask-small">{t("ask.notSeen")}</span> : <SeenFrom seen={client.seenFrom} />}
        </div>
        {place}
      </header>
      <div className="ask-what">
        <h2 id={title} ref={heading} tabIndex={-1} aria-label={t("ask.question", { client: client.name, title: call.title, server: server.name })}>
          {call.title}
        </h2>
        <ServerLine server={server}>
          {server.name} · <code>{call.exposedName}</code>
        </ServerLine>
      </div>
      <p className={`ask-class ask-class-${call.class.class}`}>
        {call.class.class === "read" ? <IconEye size={16} aria-hidden /> : <IconPencil size={16} aria-hidden />}
        <strong>{t(`ask.class.${call.class.class}`)}</strong>
        <span className="ask-dim">· {t("ask.because", { reason: reasonWords(t, call.class.reason) })}</span>
        {call.class.reachesOutside && <span className="ask-tag">{t("ask.outside")}</span>}
      </p>
      {call.changes.length > 0 && <Changes changes={call.changes} />}
      <Arguments key={call.hash} shown={call.arguments ?? []} veil={veil} onReveal={onReveal} />
      {call.warnings.length > 0 && (
        <ul className="ask-warnings">
          {call.warnings.map((warning) => (
            <li key={JSON.stringify(warning)}>
              <IconAlertTriangle size={15} aria-hidden /> {warningWords(t, warning, render)}
            </li>
          ))}
          {call.warnings.some(keepsFromAlways) && <li className="ask-dim">{t("ask.noAlways")}</li>}
        </ul>
      )}
      {panel === "allow" && <AllowPanel call={call} onAllow={allow} onBack={back} />}
      {panel === "deny" && <DenyPanel call={call} onAnswer={onAnswer} onBack={back} />}
      {panel === "none" && (
        <div className="ask-buttons">
          <span className="ask-pair">
            <AskButton onPress={deny}>{t("ask.deny")}</AskButton>
            <AskButton label={t("ask.denyMore")} onPress={() => { setPanel("deny"); }}>
              ▾
            </AskButton>
          </span>
          <span className="ask-pair">
            {trustedRead && (
              <AskButton
                label={render(reads.sentence)}
                onPress={() => {
                  allow(choiceOf(reads));
                }}
              >
                {t("ask.readsUntilQuit")}
              </AskButton>
            )}
            <AskButton strong onPress={() => { allow(once); }}>
              {pending.waiting ? t("ask.allowOnce") : t("ask.allowNext")}
            </AskButton>
            {more && (
              <AskButton strong label={t("ask.allowMore")} onPress={() => { setPanel("allow"); }}>
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
function Patience({ pending, call }: { pending: PendingApproval; call: CallApprovalRequest }) {
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
