import { useContext, type ReactNode } from "react";

import { AwakeContext } from "./AnswerGuardContext";

type Props = {
  /** The one that most people want. */
  strong?: boolean;
  /** What it does, in full, where its text is short. */
  label?: string | undefined;
  onPress: () => void;
  children: ReactNode;
};

/** A button that takes no press while it sleeps; it keeps its place and can be reached all the time. */
export function AskButton({ strong = false, label, onPress, children }: Props) {
  const awake = useContext(AwakeContext);
  return (
    <button
      type="button"
      className={strong ? "ask-button ask-button-strong" : "ask-button"}
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
