import { useEffect, useRef, type RefObject } from "react";

/** To be given to the area that is watched. */
type Watched<Area extends HTMLElement> = {
  ref: RefObject<Area | null>;
  onFocus: () => void;
  onBlur: () => void;
};

/**
 * Keeps the focus in an area when what had it there is removed, which happens when `change` does: the first element that
 * `successor` selects gets it. The focus elsewhere is left alone.
 */
export function useFocusSuccessor<Area extends HTMLElement>(change: unknown, successor: string): Watched<Area> {
  const area = useRef<Area>(null);
  const hasFocus = useRef(false);
  useEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    if (!hasFocus.current || !lost) return;
    hasFocus.current = false;
    area.current?.querySelector<HTMLElement>(successor)?.focus();
  }, [change, successor]);
  return {
    ref: area,
    onFocus: () => {
      hasFocus.current = true;
    },
    // React reports no blur of what it removes.
    onBlur: () => {
      hasFocus.current = false;
    },
  };
}
