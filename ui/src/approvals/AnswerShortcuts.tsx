import { useContext, useEffect, useRef } from "react";

import { AwakeContext } from "./AnswerGuardContext";

type Props = {
  /** Whether keys answer here at all. */
  on: boolean;
  onAllow: () => void;
  onDeny?: () => void;
};

/** Ctrl or Cmd with Enter says yes, with Backspace no where that is given; Enter alone does nothing. */
export function AnswerKeys({ on, onAllow, onDeny }: Props) {
  const listening = useContext(AwakeContext) && on;
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
