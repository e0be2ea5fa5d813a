import { useEffect, useRef, type ReactNode } from "react";

import { useMessages } from "../../messages";
import { AskButton } from "../AnswerButton";

type Props = {
  label: string;
  /** The whole deed; nothing while what was picked does not go together. */
  deed: string | null;
  onDo: () => void;
  onBack: () => void;
  children: ReactNode;
};

/** A panel in which an answer is put together. Its one button says the whole deed. */
export function Panel({ label, deed, onDo, onBack, children }: Props) {
  const t = useMessages();
  const area = useRef<HTMLElement>(null);
  // The button that opened it is gone: the keyboard goes on here.
  useEffect(() => {
    area.current?.focus({ preventScroll: true });
    area.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section className="ask-panel" aria-label={label} tabIndex={-1} ref={area}>
      {children}
      <div className="ask-buttons ask-deed">
        <button type="button" className="ask-button" onClick={onBack}>
          {t("ask.back")}
        </button>
        <span aria-live="polite">
          {deed !== null && (
            <AskButton strong onPress={onDo}>
              {deed}
            </AskButton>
          )}
        </span>
      </div>
    </section>
  );
}
