import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";

import type { ApprovalRequest, PendingApproval } from "../generated/types";
import { useMessages, type MessageKey } from "../messages";
import type { End } from "./queue";

/** What is left of a question, in its place. */
export function Tombstone({ pending, end, place }: { pending: PendingApproval; end: End; place?: ReactNode }) {
  const t = useMessages();
  const { ask } = pending;
  return (
    <article className="ask ask-over">
      <header className="ask-head">
        <div className="ask-who">
          <strong>{whose(ask) ?? t("app.name")}</strong>
        </div>
        {place}
      </header>
      {ask.ask === "call" && (
        <div className="ask-what">
          <h2>{ask.title}</h2>
        </div>
      )}
      <p className={`ask-end ask-end-${end}`} role="status">
        {end === "allowed" && <IconCheck size={18} aria-hidden />}
        {end === "denied" && <IconX size={18} aria-hidden />}
        {end === "ended" && <IconClock size={18} aria-hidden />}
        {t(endWord(ask, end))}
      </p>
    </article>
  );
}

function whose(ask: ApprovalRequest): string | null {
  if (ask.ask === "call") return ask.client.name;
  return ask.ask === "elicitation" || ask.ask === "sampling" || ask.ask === "step_up" ? ask.server.name : null;
}

/** What was asked for is given or not, what was to be done is allowed or not; who declined reads that. */
function endWord({ ask }: ApprovalRequest, end: End): MessageKey {
  const isGiven = ask === "elicitation" || ask === "sampling";
  if (end === "denied" && (isGiven || ask === "step_up")) return "ask.end.declined";
  return end === "allowed" && isGiven ? "ask.end.given" : `ask.end.${end}`;
}
