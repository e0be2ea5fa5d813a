import { useEffect, useState } from "react";

/** How long answer buttons ignore presses after the view changed, in milliseconds (PERM-9). */
const GUARD_MS = 500;

/** Whether the view has been unchanged for `GUARD_MS`. `change` is a counter of view changes. */
export function useAnswerGuard(change: number): boolean {
  const [awake, setAwake] = useState<number | null>(null);
  const [seen, setSeen] = useState(0);

  useEffect(() => {
    const changed = () => {
      setSeen((times) => times + 1);
    };
    document.addEventListener("visibilitychange", changed);
    return () => {
      document.removeEventListener("visibilitychange", changed);
    };
  }, []);

  const mark = change + seen;
  useEffect(() => {
    const timer = setTimeout(() => {
      setAwake(mark);
    }, GUARD_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [mark]);
  return awake === mark;
}
