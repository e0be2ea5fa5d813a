import { useEffect, useState } from "react";

/** Items added per frame. */
const STEP = 2;

/** How many of `count` items to render: a few at first and a few more per frame, so that no frame takes long. */
export function useIncrementalCount(count: number): number {
  const [drawn, setDrawn] = useState(STEP);
  useEffect(() => {
    if (drawn >= count) return;
    const frame = requestAnimationFrame(() => {
      setDrawn(drawn + STEP);
    });
    return () => {
      cancelAnimationFrame(frame);
    };
  }, [drawn, count]);
  return Math.min(drawn, count);
}
