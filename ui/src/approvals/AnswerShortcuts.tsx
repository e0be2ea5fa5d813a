import { useContext, useEffect, useRef } from "react";

import { AnswerGuardContext } from "./AnswerGuardContext";

type Props = {
  /** Whether the shortcuts are active. */
  on: boolean;
  onAllow: () => void;
  onDeny?: () => void;
};

/** Ctrl/Cmd+Enter allows, Ctrl/Cmd+Backspace denies if `onDeny` is given. Enter alone does nothing. */
export function AnswerShortcuts({ on, onAllow, onDeny }: Props) {
  const listening = useContext(AnswerGuardContext) && on;
  const acts = useRef({ onAllow, onDeny });
  useEffect(() => {
    acts.current = { onAllow, onDeny };
  });
  useEffect(() => {
    if (!listening) return;
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.repeat) return;
      if (event.key === "Enter") acts.current.onAllow();
      else if (event.key === "Backspace" && acts.current.onDeny) acts.current.onDeny();
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => {
      window.removeEventListener("keydown", pressed);
    };
  }, [listening]);
  return null;
}
