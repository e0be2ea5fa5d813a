import type { SubmittedAnswer, PendingApproval } from "../generated/types";
import { useMessages } from "../messages";
import { AnswerButton } from "./AnswerButton";
import { answersForBatch } from "./groups";
import styles from "./GroupAnswer.module.css";

type Props = {
  /** Calls of one tool and class. */
  set: readonly PendingApproval[];
  /** Whether the tool is named: where it does not stand above. */
  named?: boolean;
  onAnswer: (answers: SubmittedAnswer[]) => void;
};

/** Answers exactly the calls of one tool that were listed when this was rendered (PERM-10). */
export function GroupAnswer({ set, named = false, onAnswer }: Props) {
  const t = useMessages();
  const count = set.length;
  const request = set[0]?.request;
  const title = request?.kind === "call" ? request.title : "";
  return (
    <div className={styles.group} role="group" aria-label={t("ask.groupOf", { title, count })}>
      <span>{named ? t("ask.groupOf", { title, count }) : t("ask.group", { count })}</span>
      <AnswerButton
        label={named ? t("ask.denyGroupOf", { title, count }) : undefined}
        onPress={() => {
          onAnswer(answersForBatch(set, "deny"));
        }}
      >
        {t("ask.denyGroup", { count })}
      </AnswerButton>
      <AnswerButton
        label={named ? t("ask.allowGroupOf", { title, count }) : undefined}
        onPress={() => {
          onAnswer(answersForBatch(set, "allow"));
        }}
      >
        {t("ask.allowGroup", { count })}
      </AnswerButton>
    </div>
  );
}
