import { useId } from "react";

import { AskButton } from "./AnswerButton";
import { GroupAnswer } from "./GroupAnswer";
import { answersTo, setsOf, type Group } from "./groups";
import { Question, type QuestionActs } from "./ApprovalItem";
import { useMessages } from "../messages";

/** The questions of one client about one server, and answers to several of them at once. */
export function GroupOfQuestions({ group, onAnswer, ...acts }: QuestionActs & { group: Group }) {
  const t = useMessages();
  const id = useId();
  const { client, server, slots } = group;
  const sets = setsOf(group);
  const calls = sets.reduce((sum, set) => sum + set.length, 0);
  const waiting = slots.filter(({ end }) => end === null).length;
  return (
    <section aria-labelledby={id} className="approvals-group">
      <header className="approvals-head">
        <h2 id={id}>{[client, server].filter((one) => one !== null).join(" → ") || t("app.name")}</h2>
        <span className="ask-dim">{t("ask.waiting", { count: waiting })}</span>
        {sets.length > 1 && (
          <AskButton
            label={t("ask.denyAllOf", { count: calls, client: client ?? "", server: server ?? "" })}
            onPress={() => {
              // Calls of several tools are never answered in one (PERM-10): each set is an answer of its own.
              for (const set of sets) onAnswer(answersTo(set, "deny"));
            }}
          >
            {t("ask.denyGroup", { count: calls })}
          </AskButton>
        )}
      </header>
      {sets.map((set) => set.length > 1 && <GroupAnswer key={set[0]?.id} set={set} named onAnswer={onAnswer} />)}
      {slots.map((slot) => (
        <div key={slot.pending.id} className="card approvals-card">
          <Question slot={slot} keys={false} onAnswer={onAnswer} {...acts} />
        </div>
      ))}
    </section>
  );
}
