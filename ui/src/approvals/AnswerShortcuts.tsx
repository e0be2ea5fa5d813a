import { useContext, useEffect, useRef } from "react";

import { isShortcut } from "../keyboard/shortcuts";
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
      if (event.repeat) return;
      if (isShortcut(event, "allow")) acts.current.onAllow();
      else if (isShortcut(event, "deny") && acts.current.onDeny) acts.current.onDeny();
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
