import clsx from "clsx";
import type { PeerProcess } from "../../generated/types";
import { useMessages } from "../../messages";
import { MarkedText } from "../../components/MarkedText";
import { seen as marked } from "../../components/invisibleChars";
import styles from "./PeerProcessLine.module.css";

/** The peer process with its path and parents. It is observed, not verified. */
export function PeerProcessLine({ seen: { program, parents } }: { seen: PeerProcess }) {
  const t = useMessages();
  const chain = parents.map(({ name }) => marked(name)).join(" ← ");
  return (
    <details className={styles.peer}>
      <summary>
        <MarkedText text={t("ask.seenFrom", { program: marked(program.name) })} />
      </summary>
      <div className={clsx(styles.parents, "selectable")}>
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
