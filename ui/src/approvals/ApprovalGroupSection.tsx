import clsx from "clsx";
import { useId } from "react";

import { AnswerButton } from "./AnswerButton";
import { GroupAnswer } from "./GroupAnswer";
import { answersForBatch, batchesOf, type ApprovalGroup } from "./groups";
import { ApprovalItem, type ApprovalActions } from "./ApprovalItem";
import { useMessages } from "../messages";
import styles from "./ApprovalGroupSection.module.css";

/** The approval requests of one client for one server, with answers for batches of them. */
export function ApprovalGroupSection({ group, onAnswer, ...acts }: ApprovalActions & { group: ApprovalGroup }) {
  const t = useMessages();
  const id = useId();
  const { client, server, slots } = group;
  const sets = batchesOf(group);
  const calls = sets.reduce((sum, set) => sum + set.length, 0);
  const waiting = slots.filter(({ end }) => end === null).length;
  return (
    <section aria-labelledby={id} className={styles.group}>
      <header className={styles.head}>
        <h2 id={id}>{[client, server].filter((one) => one !== null).join(" → ") || t("app.name")}</h2>
        <span className="dim">{t("ask.waiting", { count: waiting })}</span>
        {sets.length > 1 && (
          <AnswerButton
            label={t("ask.denyAllOf", { count: calls, client: client ?? "", server: server ?? "" })}
            onPress={() => {
              // Calls of different tools are never answered in one request (PERM-10): one request per batch.
              for (const set of sets) onAnswer(answersForBatch(set, "deny"));
            }}
          >
            {t("ask.denyGroup", { count: calls })}
          </AnswerButton>
        )}
      </header>
      {sets.map((set) => set.length > 1 && <GroupAnswer key={set[0]?.id} set={set} named onAnswer={onAnswer} />)}
      {slots.map((slot) => (
        <div key={slot.pending.id} className={clsx("card", styles.card)}>
          <ApprovalItem slot={slot} keys={false} onAnswer={onAnswer} {...acts} />
        </div>
      ))}
    </section>
  );
}
