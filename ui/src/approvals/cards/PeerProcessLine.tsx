import type { PeerProcess } from "../../generated/types";
import { useMessages } from "../../messages";
import { MarkedText } from "../arguments/MarkedText";
import { seen as marked } from "../../forms/invisibleChars";

/** The peer process with its path and parents. It is observed, not verified. */
export function PeerProcessLine({ seen: { program, parents } }: { seen: PeerProcess }) {
  const t = useMessages();
  const chain = parents.map(({ name }) => marked(name)).join(" ← ");
  return (
    <details className="ask-seen">
      <summary>
        <MarkedText text={t("ask.seenFrom", { program: marked(program.name) })} />
      </summary>
      <div className="ask-seen-more selectable">
        <code>
          <MarkedText text={marked(program.path)} />
        </code>
        {chain !== "" && (
          <span>
            <MarkedText text={t("ask.startedBy", { chain })} />
          </span>
        )}
        <span>{t("ask.notVerified")}</span>
      </div>
    </details>
  );
}
