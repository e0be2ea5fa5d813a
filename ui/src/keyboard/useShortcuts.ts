import { useEffect, useRef } from "react";

import { isShortcut, isTyping, type Shortcut } from "./shortcuts";

type Handlers = Partial<Record<Shortcut, (event: KeyboardEvent) => void>>;

/** Handles shortcuts on the whole page, except where a text is being edited. */
export function useShortcuts(handlers: Handlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event)) return;
      for (const [shortcut, handle] of Object.entries(latest.current)) {
        if (!isShortcut(event, shortcut as Shortcut)) continue;
        event.preventDefault();
        handle(event);
      }
    };
    window.addEventListener("keydown", pressed);
    return () => {
      window.removeEventListener("keydown", pressed);
    };
  }, []);
}
