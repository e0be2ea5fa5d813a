import { IconAlertTriangle, IconEye, IconPencil } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";

import type { ApprovalAnswer, CallApprovalRequest, GrantChoice, PendingApproval } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { useNow } from "../../components/useNow";
import { AllowPanel } from "../grants/AllowPanel";
import { AnswerShortcuts } from "../AnswerShortcuts";
import { CallArguments } from "../arguments/CallArguments";
import { AnswerButton } from "../AnswerButton";
import { DefinitionChanges } from "./DefinitionChanges";
import { toGrantChoice, lastingChoices, allowOnce } from "../grants/grantChoices";
import { DenyPanel } from "../grants/DenyPanel";
import { OpinionLine } from "./OpinionLine";
import { PeerProcessLine } from "./PeerProcessLine";
import { ServerSummaryLine } from "./ServerSummaryLine";
import { formatCountdown } from "../../messages/countdown";
import { classLabel, classReasonLabel, permanentNote, warningLabel } from "../labels";
import cardStyles from "../Card.module.css";
import styles from "./ApprovalCard.module.css";

type Props = {
  pending: PendingApproval;
  call: CallApprovalRequest;
  /** Shown beside the client's name: the place in the queue, and the way to the others. */
  place?: ReactNode;
  /** Answers to several calls at once, where that is possible. */
  group?: ReactNode;
  /** Whether Ctrl Enter and Ctrl Backspace answer this card. */
  keys: boolean;
  /** Changes when revealed arguments have to be hidden again. */
  veil: number;
  onAnswer: (answer: ApprovalAnswer) => void;
  /** Trusts the read-only labels of the call's server, or ceases to; the call is judged again. */
  onTrustLabels: (trusted: boolean) => void;
  /** Reads one argument unmasked. */
  onReveal: (argument: number) => Promise<string>;
};

/** The approval request of a call, with every answer that is offered. */
export function ApprovalCard({ pending, call, place, group, keys, veil, onAnswer, onTrustLabels, onReveal }: Props) {
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
    onAnswer({ answer: "deny", choice: allowOnce, reason: null });
  };
  const back = () => {
    setPanel("none");
    heading.current?.focus({ preventScroll: true });
  };

  const reads = call.choices.find(
    ({ lifetime, width, everyClient }) => lifetime === "until_quit" && width === "reads" && !everyClient,
  );
  const trustedRead = reads !== undefined && call.class.reason.by === "trusted_label";
  const more = lastingChoices(call.choices).length > 0;
  const permanent = permanentNote(t, call);
  return (
    <article className={clsx(cardStyles.card, panel !== "none" && cardStyles.composing)} aria-labelledby={title}>
      <AnswerShortcuts
        on={keys && panel === "none"}
        onAllow={() => {
          allow(allowOnce);
        }}
        onDeny={deny}
      />
      <header className={cardStyles.head}>
        <div className={cardStyles.who}>
          <strong>{client.name}</strong> <span className="dim">{t("ask.wants")}</span>
          {client.says !== null && <span className={cardStyles.small}>{t("ask.says", { says: client.says })}</span>}
          {client.byUser && <strong className={cardStyles.small}>{t("ask.byUser")}</strong>}
          {client.byUser ? null : client.seenFrom === null ? (
            <span className={cardStyles.small}>{t("ask.notSeen")}</span>
          ) : (
            <PeerProcessLine seen={client.seenFrom} />
          )}
        </div>
        {place}
      </header>
      <div className={cardStyles.what}>
        <h2
          id={title}
          ref={heading}
          tabIndex={-1}
          aria-label={t("ask.question", { client: client.name, title: call.title, server: server.name })}
        >
          {call.title}
        </h2>
        <ServerSummaryLine server={server}>
          {server.name} · <code>{call.exposedName}</code>
        </ServerSummaryLine>
      </div>
      <p className={clsx(styles.accessClass, styles[call.class.class])}>
        {call.class.class === "read" ? <IconEye size={16} aria-hidden /> : <IconPencil size={16} aria-hidden />}
        <span className={styles.classText}>
          <strong>{classLabel(t, call.class)}</strong>{" "}
          <span className="dim">· {t("ask.because", { reason: classReasonLabel(t, call.class.reason) })}</span>{" "}
          {pending.waiting && <LabelTrust call={call} onTrustLabels={onTrustLabels} />}
        </span>
        {call.class.reachesOutside && <span className={styles.tag}>{t("ask.outside")}</span>}
      </p>
      {call.changes.length > 0 && <DefinitionChanges changes={call.changes} />}
      <CallArguments key={call.hash} shown={call.arguments ?? []} veil={veil} onReveal={onReveal} />
      {call.warnings.length > 0 && (
        <ul className={cardStyles.warnings}>
          {call.warnings.map((warning) => (
            <li key={JSON.stringify(warning)}>
              <IconAlertTriangle size={15} aria-hidden /> {warningLabel(t, warning, render)}
            </li>
          ))}
          {permanent !== null && <li className="dim">{permanent}</li>}
        </ul>
      )}
      {pending.model !== null && (
        <OpinionLine key={`opinion ${call.hash}`} id={pending.id} hash={call.hash} model={pending.model} />
      )}
      {panel === "allow" && <AllowPanel call={call} onAllow={allow} onBack={back} />}
      {panel === "deny" && <DenyPanel call={call} onAnswer={onAnswer} onBack={back} />}
      {panel === "none" && (
        <div className={cardStyles.buttons}>
          <span className={cardStyles.pair}>
            <AnswerButton onPress={deny}>{t("ask.deny")}</AnswerButton>
            <AnswerButton
              label={t("ask.denyMore")}
              onPress={() => {
                setPanel("deny");
              }}
            >
              ▾
            </AnswerButton>
          </span>
          <span className={cardStyles.pair}>
            {trustedRead && (
              <AnswerButton
                label={render(reads.sentence)}
                onPress={() => {
                  allow(toGrantChoice(reads));
                }}
              >
                {t("ask.readsUntilQuit")}
              </AnswerButton>
            )}
            <AnswerButton
              strong
              onPress={() => {
                allow(allowOnce);
              }}
            >
              {pending.waiting ? t("ask.allowOnce") : t("ask.allowNext")}
            </AnswerButton>
            {more && (
              <AnswerButton
                strong
                label={t("ask.allowMore")}
                onPress={() => {
                  setPanel("allow");
                }}
              >
                ▾
              </AnswerButton>
            )}
          </span>
        </div>
      )}
      {group}
      <ClientTimeout pending={pending} call={call} />
    </article>
  );
}

/** Trusts the server's labels where that would make this call a read, or takes it back where it did. */
function LabelTrust({ call, onTrustLabels }: Pick<Props, "call" | "onTrustLabels">) {
  const t = useMessages();
  const { by } = call.class.reason;
  if (by !== "untrusted_label" && by !== "trusted_label") return null;
  const wanted = by === "untrusted_label";
  return (
    <AnswerButton
      quiet
      label={t(wanted ? "ask.trustOf" : "ask.distrustOf", { server: call.server.name })}
      onPress={() => {
        onTrustLabels(wanted);
      }}
    >
      {t(wanted ? "ask.trust" : "ask.distrust")}
    </AnswerButton>
  );
}

/** How long the client still waits. */
function ClientTimeout({ pending, call }: { pending: PendingApproval; call: CallApprovalRequest }) {
  const t = useMessages();
  const now = useNow(1000);
  const client = call.client.name;
  if (!pending.waiting) return <p className={styles.timeout}>{t("ask.ticket", { client })}</p>;
  if (call.clientWaitsUntil === null) return null;
  return (
    <p className={styles.timeout} role="timer">
      {t("ask.waits", { client, time: formatCountdown(call.clientWaitsUntil - now) })}
    </p>
  );
}
