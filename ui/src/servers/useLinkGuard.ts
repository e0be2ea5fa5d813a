import { useEffect, useState } from "react";

import { useAnswerGuard } from "../approvals/useAnswerGuard";

/**
 * Whether a form takes a press that adds or starts something. A link can come at any moment, also from a program that
 * waits for a click or a key that is meant for something else: so the form that it fills has to be in front for a while.
 */
export function useLinkGuard(isOfLink: boolean): boolean {
  const [timesInFront, setTimesInFront] = useState(0);
  useEffect(() => {
    const inFront = () => {
      setTimesInFront((times) => times + 1);
    };
    window.addEventListener("focus", inFront);
    return () => {
      window.removeEventListener("focus", inFront);
    };
  }, []);
  const awake = useAnswerGuard(timesInFront);
  return !isOfLink || awake;
}
