import { useEffect, useState } from "react";

/** How long buttons sleep after what is shown has changed, in milliseconds (PERM-9). */
export const SLEEP = 500;

/** Whether what is shown has stood still for long enough to be answered. `change` rises with every change. */
export function useAwake(change: number): boolean {
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
    }, SLEEP);
    return () => {
      clearTimeout(timer);
    };
  }, [mark]);
  return awake === mark;
}
