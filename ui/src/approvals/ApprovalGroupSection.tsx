import clsx from "clsx";
import { useId } from "react";

import { AnswerButton } from "./AnswerButton";
import { GroupAnswer } from "./GroupAnswer";
import { answersForBatch, batchesOf, type ApprovalGroup } from "./groups";
import { ApprovalItem, type ApprovalActions } from "./ApprovalItem";
import type { QueueSlot } from "./queue";
import { useFocusSuccessor } from "../components/useFocusSuccessor";
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
  const watched = useFocusSuccessor<HTMLElement>(waiting, RESOLUTION);
  return (
    <section aria-labelledby={id} className={styles.group} {...watched}>
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
        <SlotCard key={slot.pending.id} slot={slot} onAnswer={onAnswer} {...acts} />
      ))}
    </section>
  );
}

/** The line of a resolved approval that says how it ended; it takes the focus of what was answered. */
const RESOLUTION = "[data-resolution]";

function SlotCard({ slot, ...actions }: ApprovalActions & { slot: QueueSlot }) {
  const watched = useFocusSuccessor<HTMLDivElement>(slot.end, RESOLUTION);
  return (
    <div className={clsx("card", styles.card)} {...watched}>
      <ApprovalItem slot={slot} keys={false} {...actions} />
    </div>
  );
}
