import { useMessages } from "../../messages";
import { Marked } from "./MarkedText";
import type { Revealed } from "./useRevealedArguments";

type Props = { name: string; revealed: Revealed | undefined; onShow: () => void; onHide: () => void };

/** Says that a secret is hidden in an argument, and shows it to whoever asks. */
export function Mask({ name, revealed, onShow, onHide }: Props) {
  const t = useMessages();
  const isShown = revealed !== undefined && "text" in revealed;
  return (
    <span className="ask-masked">
      <span role="status">{t(isShown ? "ask.unmasked" : "ask.masked")}</span>{" "}
      <button
        type="button"
        className="ask-link"
        aria-label={t(isShown ? "ask.hideOne" : "ask.showOne", { name })}
        onClick={isShown ? onHide : onShow}
      >
        {t(isShown ? "ask.hide" : "ask.show")}
      </button>
      {revealed !== undefined && "problem" in revealed && (
        <span role="alert" className="ask-fault">
          {" "}
          <Marked text={[revealed.problem.message, revealed.problem.hint].filter(Boolean).join(" ")} />
        </span>
      )}
    </span>
  );
}
