import { IconArrowNarrowRight, IconCheck, IconCircleDashed } from "@tabler/icons-react";
import clsx from "clsx";

import type { CallRecord } from "../generated/types";
import { useMessages } from "../messages";
import { ruleLabel } from "./labels";
import { useRuleSentence } from "./useRuleSentence";
import styles from "./HowDecided.module.css";

/** How a call was judged, check by check, as it was recorded then. */
export function HowDecided({ record: { judged, verdict } }: { record: Pick<CallRecord, "judged" | "verdict"> }) {
  const t = useMessages();
  const sentence = useRuleSentence();
  return (
    <section className={styles.decided} aria-labelledby="how-decided">
      <h3 id="how-decided">{t("activity.how")}</h3>
      {judged === null ? (
        <p className="dim">{t("activity.how.notRecorded")}</p>
      ) : (
        <ol className={styles.checks}>
          {judged.map(({ check, rules: looked, more }, at) => {
            const isLast = at === judged.length - 1;
            return (
              <li key={check} className={clsx(styles.check, isLast && styles.last)}>
                {isLast ? <IconArrowNarrowRight size={15} aria-hidden /> : <IconCircleDashed size={15} aria-hidden />}
                <div>
                  <span>{t(isLast ? `activity.check.${check}.decided` : `activity.check.${check}.passed`)}</span>
                  {looked.length > 0 && (
                    <ul className={styles.rules}>
                      {looked.map(({ rule, finding }) => (
                        <li key={rule}>
                          {sentence(rule)} <span className="dim">— {t(`activity.fit.${finding}`)}</span>
                        </li>
                      ))}
                      {more > 0 && <li className="dim">{t("activity.moreRules", { count: more })}</li>}
                    </ul>
                  )}
                </div>
              </li>
            );
          })}
          <li className={clsx(styles.check, styles.last)}>
            <IconCheck size={15} aria-hidden />
            <span>
              {t(`activity.verdict.${verdict.decision}`)}: {ruleLabel(t, verdict.rule)}
            </span>
          </li>
        </ol>
      )}
    </section>
  );
}
