import clsx from "clsx";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { AnswerGuardContext } from "../approvals/AnswerGuardContext";
import { ApprovalModelsContext, askOnce } from "../approvals/ApprovalModelsContext";
import { createPendingApprovalReader } from "../core/pendingApprovals";
import { QueuePosition } from "../approvals/QueuePosition";
import { answeredTogether, pendingIn } from "../approvals/queue";
import { ApprovalItem } from "../approvals/ApprovalItem";
import { useAnswerGuard } from "../approvals/useAnswerGuard";
import { useApprovalQueue, type ApprovalCommands } from "../approvals/useApprovalQueue";
import type { ApprovalsReveal, UserError } from "../generated/types";
import { isShortcut, isTyping } from "../keyboard/shortcuts";
import { SpeechContext, useMessages } from "../messages";
import { userErrorLine } from "../messages/userError";
import { defaultPreferences, toUserError, type PromptPlatform } from "../platform";
import { useAppearance } from "../theme/useAppearance";
import { catalogues } from "./catalogues";
import answerButtonStyles from "../approvals/AnswerButton.module.css";
import cardStyles from "../approvals/Card.module.css";
import styles from "./PromptWindow.module.css";

/** The prompt window. */
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
      <PromptApprovals platform={platform} onLook={readLook} />
    </SpeechContext>
  );
}

function PromptApprovals({ platform, onLook }: { platform: PromptPlatform; onLook: () => void }) {
  const t = useMessages();
  const send = useMemo(
    (): ApprovalCommands => ({
      answer: (answers) => platform.answer(answers),
      trustLabels: ({ id, hash }, trusted) => platform.trustLabels({ id, hash, trusted }),
    }),
    [platform],
  );
  const models = useMemo(
    () =>
      askOnce({
        generate: (id, run) => platform.generate(id, run),
        stop: (run) => {
          // What has ended by itself meanwhile needs no word.
          platform.stopGenerating(run).catch(() => undefined);
        },
        opinion: (which) => platform.opinion(which),
      }),
    [platform],
  );
  const { queue, error, read, move, open, shown, answer, trustLabels } = useApprovalQueue(send);
  const awake = useAnswerGuard(queue.change);
  const [timesAway, setTimesAway] = useState(0);

  const [reading, setReading] = useState<Reading>("awaited");
  const refetch = useMemo(() => {
    const questions = createPendingApprovalReader((known) => platform.pending(known));
    return oneAtATime(() =>
      questions().then(
        (pending) => {
          read(pending);
          setReading("read");
        },
        // What cannot be read cannot be answered: the core's own deadline is a no.
        (thrown: unknown) => {
          setReading(toUserError(thrown));
        },
      ),
    );
  }, [platform, read]);
  const readAgain = () => {
    setReading("awaited");
    refetch();
  };

  useEffect(() => {
    refetch();
    return platform.signals((signal) => {
      if (signal === "preferences") onLook();
      else if (typeof signal === "object") open(signal.open);
      else refetch();
      if (signal === "shown") shown();
    });
  }, [platform, refetch, open, shown, onLook]);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (isShortcut(event, "away")) {
        setTimesAway((times) => times + 1);
        void platform.putAway().catch(() => undefined);
      } else if (isTyping(event)) return;
      else if (isShortcut(event, "next")) move(1);
      else if (isShortcut(event, "previous")) move(-1);
    };
    window.addEventListener("keydown", pressed);
    return () => {
      window.removeEventListener("keydown", pressed);
    };
  }, [platform, move]);

  const area = useFitHeight(platform);
  const openLink = useCallback((address: string) => platform.openLink(address), [platform]);
  const reveal = useCallback(async (which: ApprovalsReveal) => (await platform.reveal(which)).text, [platform]);
  const slot = queue.slots[queue.at];
  return (
    <AnswerGuardContext value={awake}>
      <main className={styles.prompt} ref={area}>
        {error && (
          <p className={clsx(cardStyles.error, styles.error)} role="alert">
            {error.code === "stale_answer" ? t("ask.stale") : userErrorLine(t, error)}
          </p>
        )}
        {slot ? (
          <ApprovalModelsContext value={models}>
            <ApprovalItem
              slot={slot}
              group={answeredTogether(pendingIn(queue), slot.pending)}
              keys
              veil={queue.change + timesAway}
              place={<QueuePosition queue={queue} onMove={move} />}
              onAnswer={answer}
              onTrustLabels={trustLabels}
              onLink={openLink}
              onReveal={reveal}
            />
          </ApprovalModelsContext>
        ) : (
          <NoApproval
            reading={reading}
            onAgain={readAgain}
            onOpenMain={() => void platform.openMain().catch(() => undefined)}
          />
        )}
      </main>
    </AnswerGuardContext>
  );
}

/** What came of reading the pending approvals; awaited before the first reply, and while the user tries again. */
type Reading = "awaited" | "read" | UserError;

/** What is shown where there is no request: that none is pending only if they were read. */
function NoApproval({
  reading,
  onAgain,
  onOpenMain,
}: {
  reading: Reading;
  onAgain: () => void;
  onOpenMain: () => void;
}) {
  const t = useMessages();
  if (reading === "awaited") return null;
  const failed = reading !== "read";
  return (
    <div className={styles.none}>
      {failed ? <p role="alert">{userErrorLine(t, reading)}</p> : <p>{t("ask.none")}</p>}
      <button type="button" className={answerButtonStyles.button} onClick={failed ? onAgain : onOpenMain}>
        {t(failed ? "ask.readAgain" : "ask.openMain")}
      </button>
    </div>
  );
}

/** Runs one read at a time; requests during a read are merged into one read after it. */
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

/** Fits the height of the window to its content. */
function useFitHeight(platform: PromptPlatform) {
  const area = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      const height = Math.ceil(element.getBoundingClientRect().height);
      // Before anything is read there is nothing to fit to.
      if (height > 0) platform.fit(height).catch(() => undefined);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [platform]);
  return area;
}
