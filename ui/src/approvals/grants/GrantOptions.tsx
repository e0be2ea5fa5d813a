import { useState } from "react";

import type { CallApprovalRequest, OfferedChoice } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { RadioChoice } from "./RadioChoice";
import {
  onePerScope,
  canCoverEveryClient,
  coverageOf,
  availableLifetimes,
  updateSelection,
  type GrantSelection,
} from "./grantChoices";
import {
  conditionArguments,
  conditionFromDraft,
  initialDraft,
  draftFromCondition,
  bestProposals,
  type ConditionDraft,
} from "./conditionDraft";
import { ConditionEditor } from "./ConditionEditor";
import { lifetimeLabel } from "../labels";
import radioChoiceStyles from "./RadioChoice.module.css";

type Props = {
  call: CallApprovalRequest;
  offered: readonly OfferedChoice[];
  picked: GrantSelection;
  onPick: (picked: GrantSelection) => void;
};

/** Option value for a condition written by the user. */
const OWN = "own";

/** The parts of a lasting answer: scope, condition, lifetime, and clients. */
export function GrantOptions({ call, offered, picked, onPick }: Props) {
  const t = useMessages();
  const render = useRender();
  const [when, setWhen] = useState("");
  const [draft, setDraft] = useState<ConditionDraft | null>(null);
  const proposals = picked.width === "tool" ? call.conditions : [];
  const arguments_ = conditionArguments(call.arguments);
  const canWrite = picked.width === "tool" && arguments_.length > 0;
  const change = (part: Partial<GrantSelection>) => {
    onPick(updateSelection(offered, picked, part));
  };
  const write = (next: ConditionDraft) => {
    setDraft(next);
    const condition = conditionFromDraft(next, arguments_);
    change({ condition, isUnfinished: condition === null });
  };
  // An edited proposal becomes the user's own condition.
  const edit = (next: ConditionDraft) => {
    setWhen(OWN);
    write(next);
  };
  const choose = (wanted: string) => {
    setWhen(wanted);
    const proposal = proposals.find(({ condition }) => JSON.stringify(condition) === wanted)?.condition ?? null;
    const [first] = arguments_;
    if (wanted === OWN && first) {
      write(draft ?? initialDraft(first, null, proposals));
      return;
    }
    setDraft(proposal && draftFromCondition(proposal, arguments_));
    change({ condition: proposal, isUnfinished: false });
  };
  return (
    <>
      <RadioChoice
        label={t("ask.howWide")}
        options={onePerScope(offered).map((choice) => [choice.width, render(coverageOf(choice))])}
        value={picked.width}
        onChange={(width) => {
          setWhen("");
          setDraft(null);
          change({ width, condition: null, isUnfinished: false });
        }}
      />
      {(proposals.length > 0 || canWrite) && (
        <RadioChoice
          label={t("ask.onlyWhen")}
          options={[
            ["", t("ask.everyArgument")],
            ...bestProposals(proposals).map(({ condition, sentence }): [string, string] => [
              JSON.stringify(condition),
              render(sentence),
            ]),
            ...(canWrite ? [[OWN, t("ask.ownCondition")] as [string, string]] : []),
          ]}
          value={when}
          onChange={choose}
        />
      )}
      {draft && canWrite && (
        <ConditionEditor
          choosable={arguments_}
          proposals={proposals}
          draft={draft}
          isWhole={!picked.isUnfinished}
          onChange={edit}
        />
      )}
      <RadioChoice
        label={t("ask.howLong")}
        options={availableLifetimes(offered, picked).map((lifetime) => [lifetime, lifetimeLabel(t, lifetime, call)])}
        value={picked.lifetime}
        onChange={(lifetime) => {
          change({ lifetime });
        }}
      />
      {canCoverEveryClient(offered, picked) && (
        <label className={radioChoiceStyles.option}>
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
