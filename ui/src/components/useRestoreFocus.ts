import { useEffect, useRef, type RefObject } from "react";

/** Focuses a button that replaced the one that was pressed, if the focus was lost with it. */
export function useRestoreFocus(wanted: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    if (wanted && lost) button.current?.focus({ preventScroll: true });
  }, [wanted]);
  return button;
}
