import { useMessages } from "../../messages";
import { userErrorLine } from "../../messages/userError";
import { MarkedText } from "../../components/MarkedText";
import type { RevealState } from "./useRevealedArguments";
import fieldStyles from "../Field.module.css";
import styles from "./SecretToggle.module.css";

type Props = { name: string; revealed: RevealState | undefined; onShow: () => void; onHide: () => void };

/** Says that an argument contains a hidden secret, and reveals it on request. */
export function SecretToggle({ name, revealed, onShow, onHide }: Props) {
  const t = useMessages();
  const isShown = revealed !== undefined && "text" in revealed;
  return (
    <span className={styles.masked}>
      <span role="status">{t(isShown ? "ask.unmasked" : "ask.masked")}</span>{" "}
      <button
        type="button"
        className={styles.link}
        aria-label={t(isShown ? "ask.hideOne" : "ask.showOne", { name })}
        onClick={isShown ? onHide : onShow}
      >
        {t(isShown ? "ask.hide" : "ask.show")}
      </button>
      {revealed !== undefined && "error" in revealed && (
        <span role="alert" className={fieldStyles.error}>
          {" "}
          <MarkedText text={userErrorLine(t, revealed.error)} />
        </span>
      )}
    </span>
  );
}
