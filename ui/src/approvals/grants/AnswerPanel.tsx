import clsx from "clsx";
import { useEffect, useRef, type ReactNode } from "react";

import { useMessages } from "../../messages";
import { AnswerButton } from "../AnswerButton";
import answerButtonStyles from "../AnswerButton.module.css";
import cardStyles from "../Card.module.css";
import styles from "./AnswerPanel.module.css";

type Props = {
  label: string;
  /** The full text of the answer; null while the selection is incomplete. */
  deed: string | null;
  onDo: () => void;
  onBack: () => void;
  children: ReactNode;
};

/** A panel for composing an answer. Its one button names the whole answer. */
export function AnswerPanel({ label, deed, onDo, onBack, children }: Props) {
  const t = useMessages();
  const area = useRef<HTMLElement>(null);
  // The button that opened the panel is gone, so the panel takes the focus.
  useEffect(() => {
    area.current?.focus({ preventScroll: true });
    area.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section className={styles.panel} aria-label={label} tabIndex={-1} ref={area}>
      {children}
      <div className={clsx(cardStyles.buttons, styles.answer)}>
        <button type="button" className={answerButtonStyles.button} onClick={onBack}>
          {t("ask.back")}
        </button>
        <span aria-live="polite">
          {deed !== null && (
            <AnswerButton strong onPress={onDo}>
              {deed}
            </AnswerButton>
          )}
        </span>
      </div>
    </section>
  );
}
