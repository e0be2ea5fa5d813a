import clsx from "clsx";
import type { FieldChange, FieldConcern } from "../../generated/types";
import { useMessages } from "../../messages";
import { displayText } from "../arguments/textBlocks";
import { MarkedText } from "../../components/MarkedText";
import styles from "./DefinitionChanges.module.css";

const concerns: readonly FieldConcern[] = ["safety", "shape", "words"];

/** What changed, field by field; what it claims about safety comes first. */
export function DefinitionChanges({ changes }: { changes: readonly FieldChange[] }) {
  const t = useMessages();
  return (
    <section className={clsx(styles.changes, "selectable")} aria-label={t("ask.changes")}>
      <h3>{t("ask.changes")}</h3>
      {concerns.map((concern) => {
        const own = changes.filter((change) => change.concern === concern);
        if (own.length === 0) return null;
        return (
          <div key={concern}>
            <h4>{t(`ask.concern.${concern}`)}</h4>
            {own.map((change) => (
              <dl key={change.pointer} className={styles.change}>
                <dt>{change.pointer}</dt>
                <dd className={styles.before}>
                  <span>{t("ask.before")}</span> <Value text={change.before} />
                </dd>
                <dd className={styles.after}>
                  <span>{t("ask.after")}</span> <Value text={change.after} />
                </dd>
              </dl>
            ))}
          </div>
        );
      })}
    </section>
  );
}

function Value({ text }: { text: string | null }) {
  const t = useMessages();
  return text === null ? <em>{t("ask.absent")}</em> : <MarkedText text={displayText(text)} />;
}
