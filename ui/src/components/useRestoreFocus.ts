import { useEffect, useRef, type RefObject } from "react";

/** Goes on with the keyboard at a button that took the place of the one that was pressed. */
export function useTakeFocus(wanted: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    if (wanted && lost) button.current?.focus({ preventScroll: true });
  }, [wanted]);
  return button;
}
