import { useEffect, useState } from "react";

/** So many more are drawn with every frame. */
const STEP = 2;

/** How many of so many are drawn by now: some at once, and some more with every frame, so that none takes long. */
export function useByAndBy(count: number): number {
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
