import { useCallback, useEffect, useRef, useState } from "react";

/** Distance from the end that counts as at the end, in pixels. */
const NEAR = 24;

type Options = {
  enabled: boolean;
  /** Number of items. */
  size: number;
  /** The last item. */
  last: unknown;
};

/** Keeps a scroll area at its end while it grows, until the user scrolls up. */
export function useFollowEnd({ enabled, size, last }: Options) {
  const area = useRef<HTMLDivElement>(null);
  const follow = useRef(enabled);
  const top = useRef(0);
  const [following, setFollowing] = useState(true);
  const toEnd = useCallback(() => {
    const element = area.current;
    if (element) element.scrollTop = element.scrollHeight;
    follow.current = true;
    setFollowing(true);
  }, []);
  useEffect(() => {
    const element = area.current;
    if (follow.current && element) element.scrollTop = element.scrollHeight;
  }, [size, last]);
  useEffect(() => {
    const element = area.current;
    if (!enabled || !element) return;
    const observer = new ResizeObserver(() => {
      if (follow.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);
    // Rows are measured after they are rendered.
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => {
      observer.disconnect();
    };
  }, [enabled]);
  const onScroll = useCallback(() => {
    const element = area.current;
    if (!enabled || !element) return;
    // Only scrolling up ends following.
    const isUp = element.scrollTop < top.current;
    top.current = element.scrollTop;
    const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    follow.current = isNear || (follow.current && !isUp);
    setFollowing(follow.current);
  }, [enabled]);
  return { area, following, toEnd, onScroll };
}
