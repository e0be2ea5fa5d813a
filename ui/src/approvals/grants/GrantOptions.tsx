import { useState } from "react";

import type { CallApprovalRequest, OfferedChoice } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { Choice } from "./RadioChoice";
import { byWidth, canBeForEvery, coverOf, lifetimes, pick, type Picked } from "./grantChoices";
import { choosable, conditionOf, draftFor, draftOf, shortlist, type ConditionDraft } from "./conditionDraft";
import { ConditionEditor } from "./ConditionEditor";
import { lifetimeWords } from "../labels";

type Props = { call: CallApprovalRequest; offered: readonly OfferedChoice[]; picked: Picked; onPick: (picked: Picked) => void };

/** What is picked where a condition is written by hand. */
const OWN = "own";

/** The parts of an answer that goes on: what, only when, how long, and for whom. */
export function Choices({ call, offered, picked, onPick }: Props) {
  const t = useMessages();
  const render = useRender();
  const [when, setWhen] = useState("");
  const [draft, setDraft] = useState<ConditionDraft | null>(null);
  const proposals = picked.width === "tool" ? call.conditions : [];
  const arguments_ = choosable(call.arguments);
  const canWrite = picked.width === "tool" && arguments_.length > 0;
  const change = (part: Partial<Picked>) => {
    onPick(pick(offered, picked, part));
  };
  const write = (next: ConditionDraft) => {
    setDraft(next);
    const condition = conditionOf(next, arguments_);
    change({ condition, isUnfinished: condition === null });
  };
  // What was proposed and is written on is one's own from then on.
  const edit = (next: ConditionDraft) => {
    setWhen(OWN);
    write(next);
  };
  const choose = (wanted: string) => {
    setWhen(wanted);
    const proposal = proposals.find(({ condition }) => JSON.stringify(condition) === wanted)?.condition ?? null;
    const [first] = arguments_;
    if (wanted === OWN && first) {
      write(draft ?? draftFor(first, null, proposals));
      return;
    }
    setDraft(proposal && draftOf(proposal, arguments_));
    change({ condition: proposal, isUnfinished: false });
  };
  return (
    <>
      <Choice
        label={t("ask.howWide")}
        options={byWidth(offered).map((choice) => [choice.width, render(coverOf(choice))])}
        value={picked.width}
        onChange={(width) => {
          setWhen("");
          setDraft(null);
          change({ width, condition: null, isUnfinished: false });
        }}
      />
      {(proposals.length > 0 || canWrite) && (
        <Choice
          label={t("ask.onlyWhen")}
          options={[
            ["", t("ask.everyArgument")],
            ...shortlist(proposals).map(({ condition, sentence }): [string, string] => [JSON.stringify(condition), render(sentence)]),
            ...(canWrite ? [[OWN, t("ask.ownCondition")] as [string, string]] : []),
          ]}
          value={when}
          onChange={choose}
        />
      )}
      {draft && canWrite && (
        <ConditionEditor choosable={arguments_} proposals={proposals} draft={draft} isWhole={!picked.isUnfinished} onChange={edit} />
      )}
      <Choice
        label={t("ask.howLong")}
        options={lifetimes(offered, picked).map((lifetime) => [lifetime, lifetimeWords(t, lifetime, call)])}
        value={picked.lifetime}
        onChange={(lifetime) => {
          change({ lifetime });
        }}
      />
      {canBeForEvery(offered, picked) && (
        <label className="ask-option">
          <input
            type="checkbox"
            checked={picked.everyClient}
            onChange={(event) => {
              change({ everyClient: event.currentTarget.checked });
            }}
          />
          {t("ask.everyClient", { client: call.client.name })}
        </label>
      )}
    </>
  );
}
