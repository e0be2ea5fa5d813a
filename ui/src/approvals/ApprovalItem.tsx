import { memo, type ReactNode } from "react";

import type { ApprovalAnswer, ApprovalsReveal, ApprovalRequest, SubmittedAnswer, PendingApproval } from "../generated/types";
import { AskCard } from "./cards/ApprovalCard";
import { FormCard } from "../ask/FormCard";
import { GroupAnswer } from "./GroupAnswer";
import { LinkCard } from "./cards/UrlCard";
import { PlainCard } from "./cards/GenericCard";
import type { Slot } from "./queue";
import { SamplingCard } from "./cards/SamplingCard";
import { StepUpCard } from "./cards/ScopeUpgradeCard";
import { Tombstone } from "./ResolvedApproval";

/** What can be done with questions; the same functions as long as the page stands. */
export type QuestionActs = {
  onAnswer: (answers: SubmittedAnswer[]) => void;
  /** Opens an address in the browser. */
  onLink: (address: string) => Promise<void>;
  /** Gives one argument of a call without its mask. */
  onReveal: (which: ApprovalsReveal) => Promise<string>;
};

type Props = QuestionActs & {
  slot: Slot;
  /** Calls that can be answered together with this one, where that is offered in the card. */
  group?: readonly PendingApproval[];
  place?: ReactNode;
  keys: boolean;
  /** Changes when what was revealed has to be hidden again. */
  veil?: number;
};

/** One place of the queue, whatever is in it. It is drawn anew only when that changes. */
export const Question = memo(function Question({ slot: { pending, end }, group = [], place, keys, veil = 0, onAnswer, onLink, onReveal }: Props) {
  if (end !== null) return <Tombstone pending={pending} end={end} place={place} />;
  const { id, ask } = pending;
  if (ask.ask !== "call") {
    const answer = (one: ApprovalAnswer) => {
      onAnswer([{ id, hash: null, answer: one }]);
    };
    return <Other key={id} ask={ask} place={place} keys={keys} onAnswer={answer} onLink={onLink} />;
  }
  const { hash } = ask;
  return (
    <AskCard
      key={id}
      pending={pending}
      call={ask}
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
  ask: Exclude<ApprovalRequest, { ask: "call" }>;
  onAnswer: (answer: ApprovalAnswer) => void;
};

/** What is not about a call. */
function Other({ ask, onLink, ...rest }: OtherProps) {
  switch (ask.ask) {
    case "elicitation": {
      const { want } = ask;
      if (want.mode === "form") return <FormCard ask={ask} schema={want.schema} {...rest} />;
      return <LinkCard ask={ask} url={want.url} host={want.host} untilDone={want.untilDone} onLink={onLink} {...rest} />;
    }
    case "sampling":
      return <SamplingCard ask={ask} {...rest} />;
    case "step_up":
      return <StepUpCard ask={ask} {...rest} />;
    case "client":
    case "config_change":
      return <PlainCard ask={ask} place={rest.place} onAnswer={rest.onAnswer} />;
  }
}
