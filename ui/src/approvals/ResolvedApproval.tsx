import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import clsx from "clsx";
import type { ReactNode } from "react";

import type { ApprovalRequest, PendingApproval } from "../generated/types";
import { useMessages, type MessageKey } from "../messages";
import type { Resolution } from "./queue";
import cardStyles from "./cards/Card.module.css";
import styles from "./ResolvedApproval.module.css";

/** What remains of a resolved approval, in its place in the queue. */
export function ResolvedApproval({
  pending,
  end,
  place,
}: {
  pending: PendingApproval;
  end: Resolution;
  place?: ReactNode;
}) {
  const t = useMessages();
  const { ask } = pending;
  return (
    <article className={cardStyles.card}>
      <header className={cardStyles.head}>
        <div className={cardStyles.who}>
          <strong>{requesterName(ask) ?? t("app.name")}</strong>
        </div>
        {place}
      </header>
      {ask.ask === "call" && (
        <div className={cardStyles.what}>
          <h2>{ask.title}</h2>
        </div>
      )}
      <p className={clsx(styles.resolution, styles[end])} role="status">
        {end === "allowed" && <IconCheck size={18} aria-hidden />}
        {end === "denied" && <IconX size={18} aria-hidden />}
        {end === "ended" && <IconClock size={18} aria-hidden />}
        {t(resolutionLabel(ask, end))}
      </p>
    </article>
  );
}

function requesterName(ask: ApprovalRequest): string | null {
  if (ask.ask === "call") return ask.client.name;
  return ask.ask === "elicitation" || ask.ask === "sampling" || ask.ask === "step_up" ? ask.server.name : null;
}

/** Elicitation and sampling are answered or declined; everything else is allowed or denied. */
function resolutionLabel({ ask }: ApprovalRequest, end: Resolution): MessageKey {
  const isGiven = ask === "elicitation" || ask === "sampling";
  if (end === "denied" && (isGiven || ask === "step_up")) return "ask.end.declined";
  return end === "allowed" && isGiven ? "ask.end.given" : `ask.end.${end}`;
}
