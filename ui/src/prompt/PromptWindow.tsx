import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { Place } from "../ask/Place";
import { waiting } from "../ask/queue";
import { Question } from "../ask/Question";
import { useAwake } from "../ask/useAwake";
import { useQueue } from "../ask/useQueue";
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
  const { queue, problem, read, move, shown, answer } = useQueue((answers) => platform.answer(answers));
  const awake = useAwake(queue.change);

  useEffect(() => {
    const readAgain = () => {
      // What cannot be read cannot be answered: the core's own deadline is a no.
      platform.pending().then(read, () => undefined);
    };
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
      if (event.key === "Escape") void platform.putAway().catch(() => undefined);
      else if (typing) return;
      else if (event.key === "ArrowRight") move(1);
      else if (event.key === "ArrowLeft") move(-1);
    };
    window.addEventListener("keydown", pressed);
    return () => {
      window.removeEventListener("keydown", pressed);
    };
  }, [platform, move]);

  const slot = queue.slots[queue.at];
  return (
    <main className="prompt" ref={useFit(platform)}>
      {problem && (
        <p className="ask-problem" role="alert">
          {problem.code === "stale_answer" ? t("ask.stale") : [problem.what, problem.why, problem.todo].filter(Boolean).join(" ")}
        </p>
      )}
      {slot ? (
        <Question
          slot={slot}
          all={waiting(queue)}
          awake={awake}
          keys
          place={<Place queue={queue} onMove={move} />}
          onAnswer={answer}
          onLink={(address) => platform.openLink(address)}
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
  );
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
