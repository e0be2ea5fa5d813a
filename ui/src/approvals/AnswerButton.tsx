import clsx from "clsx";
import { useContext, type ReactNode } from "react";

import { AnswerGuardContext } from "./AnswerGuardContext";
import styles from "./AnswerButton.module.css";

type Props = {
  /** The primary button. */
  strong?: boolean;
  /** Beside a text that it is about, not among the answers. */
  quiet?: boolean;
  /** Full label, if the text is short. */
  label?: string | undefined;
  onPress: () => void;
  children: ReactNode;
};

/** A button that ignores presses while the answer guard is active. It stays focusable. */
export function AnswerButton({ strong = false, quiet = false, label, onPress, children }: Props) {
  const awake = useContext(AnswerGuardContext);
  return (
    <button
      type="button"
      className={quiet ? styles.quiet : clsx(styles.button, strong && styles.strong)}
      aria-disabled={!awake}
      aria-label={label}
      title={label}
      onClick={() => {
        if (awake) onPress();
      }}
    >
      {children}
    </button>
  );
}
