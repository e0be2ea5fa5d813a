import type { PeerProcess } from "../../generated/types";
import { useMessages } from "../../messages";
import { Marked } from "../arguments/MarkedText";
import { seen as marked } from "../../ask/fields";

/** The program at the other end, with its path and what started it. It is what was seen, and never verified. */
export function SeenFrom({ seen: { program, parents } }: { seen: PeerProcess }) {
  const t = useMessages();
  const chain = parents.map(({ name }) => marked(name)).join(" ← ");
  return (
    <details className="ask-seen">
      <summary>
        <Marked text={t("ask.seenFrom", { program: marked(program.name) })} />
      </summary>
      <div className="ask-seen-more selectable">
        <code>
          <Marked text={marked(program.path)} />
        </code>
        {chain !== "" && (
          <span>
            <Marked text={t("ask.startedBy", { chain })} />
          </span>
        )}
        <span>{t("ask.notVerified")}</span>
      </div>
    </details>
  );
}
