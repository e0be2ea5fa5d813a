import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { AwakeContext } from "../approvals/AnswerGuardContext";
import { questionReader } from "../approvals/pendingApprovals";
import { Place } from "../approvals/QueuePosition";
import { groupOf, waiting } from "../approvals/queue";
import { Question } from "../approvals/ApprovalItem";
import { useAwake } from "../approvals/useAnswerGuard";
import { useQueue } from "../approvals/useApprovalQueue";
import type { ApprovalsReveal } from "../generated/types";
import { SpeechContext, useMessages } from "../messages";
import { defaultPreferences, type PromptPlatform } from "../platform";
import { useAppearance } from "../theme/useAppearance";
import { catalogues } from "./catalogues";

/** The window with the questions. */
export function PromptWindow({ platform }: { platform: PromptPlatform }) {
  const [preferences, setPreferences] = useState(defaultPreferences);
  const readLook = useCallback(() => {
    // Without an answer it looks as before.
    platform.preferences().then(setPreferences, () => undefined);
  }, [platform]);
  useEffect(readLook, [readLook]);
  const { language } = useAppearance(preferences);
  const speech = useMemo(() => ({ language, messages: catalogues[language] }), [language]);
  return (
    <SpeechContext value={speech}>
      <Questions platform={platform} onLook={readLook} />
    </SpeechContext>
  );
}

function Questions({ platform, onLook }: { platform: PromptPlatform; onLook: () => void }) {
  const t = useMessages();
  const { queue, problem, read, move, shown, answer } = useQueue(useCallback((answers) => platform.answer(answers), [platform]));
  const awake = useAwake(queue.change);
  const [timesAway, setTimesAway] = useState(0);

  useEffect(() => {
    // What cannot be read cannot be answered: the core's own deadline is a no.
    const questions = questionReader((known) => platform.pending(known));
    const readAgain = oneAtATime(() => questions().then(read, () => undefined));
    readAgain();
    return platform.signals((signal) => {
      if (signal === "preferences") onLook();
      else readAgain();
      if (signal === "shown") shown();
    });
  }, [platform, read, shown, onLook]);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = [HTMLTextAreaElement, HTMLInputElement, HTMLSelectElement].some((kind) => event.target instanceof kind);
      if (event.key === "Escape") {
        setTimesAway((times) => times + 1);
        void platform.putAway().catch(() => undefined);
      } else if (typing) return;
      else if (event.key === "ArrowRight") move(1);
      else if (event.key === "ArrowLeft") move(-1);
    };
    window.addEventListener("keydown", pressed);
    return () => {
      window.removeEventListener("keydown", pressed);
    };
  }, [platform, move]);

  const area = useFit(platform);
  const openLink = useCallback((address: string) => platform.openLink(address), [platform]);
  const reveal = useCallback(async (which: ApprovalsReveal) => (await platform.reveal(which)).text, [platform]);
  const slot = queue.slots[queue.at];
  return (
    <AwakeContext value={awake}>
      <main className="prompt" ref={area}>
        {problem && (
          <p className="ask-problem" role="alert">
            {problem.code === "stale_answer" ? t("ask.stale") : [problem.message, problem.cause, problem.hint].filter(Boolean).join(" ")}
          </p>
        )}
        {slot ? (
          <Question
            slot={slot}
            group={groupOf(waiting(queue), slot.pending)}
            keys
            veil={queue.change + timesAway}
            place={<Place queue={queue} onMove={move} />}
            onAnswer={answer}
            onLink={openLink}
            onReveal={reveal}
          />
        ) : (
          <div className="ask-none">
            <p>{t("ask.none")}</p>
            <button type="button" className="ask-button" onClick={() => void platform.openMain().catch(() => undefined)}>
              {t("ask.openMain")}
            </button>
          </div>
        )}
      </main>
    </AwakeContext>
  );
}

/** Runs one reading at a time; what is asked for meanwhile is one more, afterwards. */
function oneAtATime(run: () => Promise<unknown>): () => void {
  let state: "idle" | "busy" | "again" = "idle";
  const begin = () => {
    state = "busy";
    void run().finally(() => {
      if (state === "again") begin();
      else state = "idle";
    });
  };
  return () => {
    if (state === "idle") begin();
    else state = "again";
  };
}

/** Keeps the window as high as what it shows. */
function useFit(platform: PromptPlatform) {
  const area = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      platform.fit(Math.ceil(element.getBoundingClientRect().height)).catch(() => undefined);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [platform]);
  return area;
}
