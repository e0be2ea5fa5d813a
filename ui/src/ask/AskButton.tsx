import type { ReactNode } from "react";

type Props = {
  awake: boolean;
  /** The one that most people want. */
  strong?: boolean;
  /** What it does, in full, where its text is short. */
  label?: string;
  onPress: () => void;
  children: ReactNode;
};

/** A button that takes no press while it sleeps; it keeps its place and can be reached all the time. */
export function AskButton({ awake, strong = false, label, onPress, children }: Props) {
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
