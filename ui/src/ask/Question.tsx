import type { ReactNode } from "react";

import type { Answer, Ask, AskAnswer, PendingAsk } from "../gen/types";
import { useMessages } from "../messages";
import { AskButton } from "./AskButton";
import { AskCard } from "./AskCard";
import { FormCard } from "./FormCard";
import { LinkCard } from "./LinkCard";
import { PlainCard } from "./PlainCard";
import { groupOf, type Slot } from "./queue";
import { SamplingCard } from "./SamplingCard";
import { StepUpCard } from "./StepUpCard";
import { Tombstone } from "./Tombstone";

type Props = {
  slot: Slot;
  /** All that wait, for answers to several at once. */
  all: readonly PendingAsk[];
  awake: boolean;
  place?: ReactNode;
  keys: boolean;
  onAnswer: (answers: AskAnswer[]) => void;
  /** Opens an address in the browser. */
  onLink: (address: string) => Promise<void>;
};

/** One place of the queue, whatever is in it. */
export function Question({ slot: { pending, end }, all, awake, place, keys, onAnswer, onLink }: Props) {
  if (end !== null) return <Tombstone pending={pending} end={end} place={place} />;
  const { ask } = pending;
  if (ask.ask !== "call") {
    const answer = (one: Answer) => {
      onAnswer([{ id: pending.id, hash: null, answer: one }]);
    };
    return <Other key={pending.id} ask={ask} awake={awake} place={place} keys={keys} onAnswer={answer} onLink={onLink} />;
  }
  const group = groupOf(all, pending);
  return (
    <AskCard
      key={pending.id}
      pending={pending}
      call={ask}
      awake={awake}
      place={place}
      keys={keys}
      group={group.length > 1 && <Group group={group} awake={awake} onAnswer={onAnswer} />}
      onAnswer={(answer) => {
        onAnswer([{ id: pending.id, hash: ask.hash, answer }]);
      }}
    />
  );
}

type OtherProps = Pick<Props, "awake" | "place" | "keys" | "onLink"> & {
  ask: Exclude<Ask, { ask: "call" }>;
  onAnswer: (answer: Answer) => void;
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
      return <PlainCard ask={ask} awake={rest.awake} place={rest.place} onAnswer={rest.onAnswer} />;
  }
}

type GroupProps = { group: readonly PendingAsk[]; awake: boolean; onAnswer: (answers: AskAnswer[]) => void };

/** Answers all calls of one tool that were listed when this was drawn, and no other. */
function Group({ group, awake, onAnswer }: GroupProps) {
  const t = useMessages();
  const count = group.length;
  const answer = (all: Answer) => {
    onAnswer(
      group.flatMap(({ id, ask }) => (ask.ask === "call" ? [{ id, hash: ask.hash, answer: all }] : [])),
    );
  };
  const choice = { lifetime: "once", width: "call", everyClient: false, conditions: [] } as const;
  return (
    <div className="ask-group">
      <span>{t("ask.group", { count })}</span>
      <AskButton awake={awake} onPress={() => { answer({ answer: "deny", choice: { ...choice, conditions: [] }, reason: null }); }}>
        {t("ask.denyGroup", { count })}
      </AskButton>
      <AskButton awake={awake} onPress={() => { answer({ answer: "allow", choice: { ...choice, conditions: [] } }); }}>
        {t("ask.allowGroup", { count })}
      </AskButton>
    </div>
  );
}
