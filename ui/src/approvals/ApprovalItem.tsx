import { memo, type ReactNode } from "react";

import type {
  ApprovalAnswer,
  ApprovalsReveal,
  ApprovalRequest,
  SubmittedAnswer,
  PendingApproval,
} from "../generated/types";
import { ApprovalCard } from "./cards/ApprovalCard";
import { FormCard } from "./cards/FormCard";
import { GroupAnswer } from "./GroupAnswer";
import { UrlCard } from "./cards/UrlCard";
import { GenericCard } from "./cards/GenericCard";
import type { QueueSlot } from "./queue";
import { SamplingCard } from "./cards/SamplingCard";
import { ScopeUpgradeCard } from "./cards/ScopeUpgradeCard";
import { ResolvedApproval } from "./ResolvedApproval";

/** Callbacks for approval requests; stable for as long as the page is mounted. */
export type ApprovalActions = {
  onAnswer: (answers: SubmittedAnswer[]) => void;
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
  onLink,
  onReveal,
}: Props) {
  if (end !== null) return <ResolvedApproval pending={pending} end={end} place={place} />;
  const { id, request } = pending;
  if (request.kind !== "call") {
    const answer = (one: ApprovalAnswer) => {
      onAnswer([{ id, hash: null, answer: one }]);
    };
    return <NonCallItem key={id} request={request} place={place} keys={keys} onAnswer={answer} onLink={onLink} />;
  }
  const { hash } = request;
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
      onReveal={(argument) => onReveal({ id, hash, argument })}
    />
  );
});

type OtherProps = Pick<Props, "place" | "keys" | "onLink"> & {
  request: Exclude<ApprovalRequest, { kind: "call" }>;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** Requests other than calls. */
function NonCallItem({ request, onLink, ...rest }: OtherProps) {
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
      return <SamplingCard request={request} {...rest} />;
    case "step_up":
      return <ScopeUpgradeCard request={request} {...rest} />;
    case "client":
    case "config_change":
      return <GenericCard request={request} place={rest.place} onAnswer={rest.onAnswer} />;
  }
}
