import { useEffect, useRef } from "react";

import { isShortcut, isTyping, worksWhileTyping, type Shortcut } from "./shortcuts";

type Handlers = Partial<Record<Shortcut, (event: KeyboardEvent) => void>>;

/** Handles shortcuts on the whole page; where a text is being edited, only those that work while typing. */
export function useShortcuts(handlers: Handlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const typing = isTyping(event);
      for (const [name, handle] of Object.entries(latest.current)) {
        const shortcut = name as Shortcut;
        if (!isShortcut(event, shortcut) || (typing && !worksWhileTyping.includes(shortcut))) continue;
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
