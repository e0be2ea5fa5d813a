import { useMessages } from "../../messages";
import { AnswerButton } from "../AnswerButton";
import styles from "./SamplingDraftRow.module.css";

type Props = {
  /** Who can write an answer. */
  model: string;
  running: boolean;
  /** What is in the field: nothing, what a model wrote, that with changes, or what the user wrote. */
  text: "none" | "written" | "edited" | "own";
  /** Whether the server offered tools, which the model did not get. */
  toolsLeftOut: boolean;
  onGenerate: () => void;
  onStop: () => void;
};

/** Lets a model write the answer, and says who wrote what stands there. It always takes the same height. */
export function SamplingDraftRow({ model, running, text, toolsLeftOut, onGenerate, onStop }: Props) {
  const t = useMessages();
  return (
    <div className={styles.row}>
      <span role="status" className={styles.state}>
        {running ? t("ask.sampling.writing", { model }) : text !== "own" && t(`ask.sampling.${text}`, { model })}
        {!running && toolsLeftOut && ` ${t("ask.sampling.noTools")}`}
      </span>
      {running ? (
        <button type="button" className={styles.stop} onClick={onStop}>
          {t("ask.sampling.stop")}
        </button>
      ) : (
        // What the user wrote is never written over.
        (text === "none" || text === "written") && (
          <AnswerButton onPress={onGenerate}>
            {t(text === "none" ? "ask.sampling.let" : "ask.sampling.letAgain")}
          </AnswerButton>
        )
      )}
    </div>
  );
}
