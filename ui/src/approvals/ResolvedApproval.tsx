import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import clsx from "clsx";
import type { ReactNode } from "react";

import type { ApprovalRequest, PendingApproval } from "../generated/types";
import { MarkedText } from "../components/MarkedText";
import { seen } from "../components/invisibleChars";
import { useMessages, type MessageKey } from "../messages";
import type { Resolution } from "./queue";
import cardStyles from "./Card.module.css";
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
  const { request } = pending;
  return (
    <article className={cardStyles.card}>
      <header className={cardStyles.head}>
        <div className={cardStyles.who}>
          <strong>
            <MarkedText text={requesterName(request) ?? t("app.name")} />
          </strong>
        </div>
        {place}
      </header>
      {request.kind === "call" && (
        <div className={cardStyles.what}>
          <h2>{request.title}</h2>
        </div>
      )}
      <p className={clsx(styles.resolution, styles[end])} role="status" tabIndex={-1} data-resolution>
        {end === "allowed" && <IconCheck size={18} aria-hidden />}
        {end === "denied" && <IconX size={18} aria-hidden />}
        {end === "ended" && <IconClock size={18} aria-hidden />}
        {t(resolutionLabel(request, end))}
      </p>
    </article>
  );
}

function requesterName(request: ApprovalRequest): string | null {
  if (request.kind === "call") return request.client.name;
  if (request.kind === "client") return seen(request.says);
  return request.kind === "elicitation" || request.kind === "sampling" || request.kind === "step_up"
    ? request.server.name
    : null;
}

/** Elicitation and sampling are answered or declined; everything else is allowed or denied. */
function resolutionLabel({ kind }: ApprovalRequest, end: Resolution): MessageKey {
  const isGiven = kind === "elicitation" || kind === "sampling";
  if (end === "denied" && (isGiven || kind === "step_up")) return "ask.end.declined";
  return end === "allowed" && isGiven ? "ask.end.given" : `ask.end.${end}`;
}
