import { memo, type ReactNode } from "react";

import type {
  ApprovalAnswer,
  ApprovalId,
  ApprovalsReveal,
  ApprovalRequest,
  SubmittedAnswer,
  PendingApproval,
  CallHash,
  ServerSummary,
} from "../generated/types";
import { ApprovalCard } from "./cards/ApprovalCard";
import { FormCard } from "./cards/FormCard";
import { GroupAnswer } from "./GroupAnswer";
import { UrlCard } from "./cards/UrlCard";
import { ClientAccessCard } from "./cards/ClientAccessCard";
import { CommandRequestCard } from "./cards/CommandRequestCard";
import { ConfigChangeCard } from "./cards/ConfigChangeCard";
import type { QueueSlot } from "./queue";
import { SamplingCard } from "./cards/SamplingCard";
import { ScopeUpgradeCard } from "./cards/ScopeUpgradeCard";
import { ResolvedApproval } from "./ResolvedApproval";

/** A call as it is shown: which request, and of which server. */
export type ShownCall = { id: ApprovalId; hash: CallHash; server: ServerSummary };

/** Callbacks for approval requests; stable for as long as the page is mounted. */
export type ApprovalActions = {
  onAnswer: (answers: SubmittedAnswer[]) => void;
  /** Trusts the read-only labels of the server of a call, or ceases to. */
  onTrustLabels: (call: ShownCall, trusted: boolean) => void;
  /** Opens an address in the browser. */
  onLink: (address: string) => Promise<void>;
  /** Gives one argument of a call without its mask. */
  onReveal: (which: ApprovalsReveal) => Promise<string>;
};

type Props = ApprovalActions & {
  slot: QueueSlot;
  /** Calls that can be answered together with this one, where that is offered in the card. */
  group?: readonly PendingApproval[];
  place?: ReactNode;
  keys: boolean;
  /** Changes when revealed arguments have to be hidden again. */
  veil?: number;
};

/** One slot of the queue. Memoised: renders again only when the slot changes. */
export const ApprovalItem = memo(function ApprovalItem({
  slot: { pending, end },
  group = [],
  place,
  keys,
  veil = 0,
  onAnswer,
  onTrustLabels,
  onLink,
  onReveal,
}: Props) {
  if (end !== null) return <ResolvedApproval pending={pending} end={end} place={place} />;
  const { id, request } = pending;
  if (request.kind !== "call") {
    const answer = (one: ApprovalAnswer) => {
      onAnswer([{ id, hash: null, answer: one }]);
    };
    const { model } = pending;
    return <NonCallItem key={id} {...{ id, model, request, place, keys, onLink }} onAnswer={answer} />;
  }
  const { hash, server } = request;
  return (
    <ApprovalCard
      key={id}
      pending={pending}
      call={request}
      place={place}
      keys={keys}
      veil={veil}
      group={group.length > 1 && <GroupAnswer set={group} onAnswer={onAnswer} />}
      onAnswer={(answer) => {
        onAnswer([{ id, hash, answer }]);
      }}
      onTrustLabels={(trusted) => {
        onTrustLabels({ id, hash, server }, trusted);
      }}
      onReveal={(argument) => onReveal({ id, hash, argument })}
    />
  );
});

type OtherProps = Pick<Props, "place" | "keys" | "onLink"> &
  Pick<PendingApproval, "id" | "model"> & {
    request: Exclude<ApprovalRequest, { kind: "call" }>;
    onAnswer: (answer: ApprovalAnswer) => void;
  };

/** Requests other than calls. */
function NonCallItem({ id, model, request, onLink, ...rest }: OtherProps) {
  switch (request.kind) {
    case "elicitation": {
      const { want } = request;
      if (want.mode === "form") return <FormCard request={request} schema={want.schema} {...rest} />;
      return (
        <UrlCard
          request={request}
          url={want.url}
          host={want.host}
          untilDone={want.untilDone}
          onLink={onLink}
          {...rest}
        />
      );
    }
    case "sampling":
      return <SamplingCard id={id} model={model} request={request} {...rest} />;
    case "step_up":
      return <ScopeUpgradeCard request={request} {...rest} />;
    case "client":
      return <ClientAccessCard request={request} {...rest} />;
    case "command":
      return <CommandRequestCard request={request} place={rest.place} onAnswer={rest.onAnswer} />;
    case "config_change":
      return <ConfigChangeCard request={request} place={rest.place} onAnswer={rest.onAnswer} />;
  }
}
