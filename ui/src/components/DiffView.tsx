import clsx from "clsx";

import { useMessages } from "../messages";
import type { ChangeLine } from "./diffLines";
import { seen } from "./invisibleChars";
import { MarkedText } from "./MarkedText";
import styles from "./DiffView.module.css";

type Props = {
  lines: readonly ChangeLine[];
  /** What changes, for screen readers. */
  label: string;
  /** Without a frame and line numbers: inside of something that scrolls. */
  inline?: boolean;
};

const signs = { kept: " ", added: "+", removed: "−", gap: "⋯" } as const;

/** A change of a text by lines: a sign and a colour say which were added and removed. */
export function DiffView({ lines, label, inline = false }: Props) {
  const t = useMessages();
  return (
    <div
      className={clsx("mono", "selectable", inline ? styles.inline : styles.diff)}
      role={inline ? "group" : "region"}
      aria-label={label}
      tabIndex={inline ? undefined : 0}
    >
      <div className={styles.lines}>
        {lines.map((line, at) => {
          const { kind, text, parts, old, new: now } = line;
          // A gap without a text stands for lines that are left out; one with a text is no line of either side.
          const isHeading = kind === "gap" && text !== "";
          return (
            <div key={at} className={clsx(styles.line, styles[kind])} data-kind={kind}>
              {!inline && (
                <>
                  <span className={styles.number} aria-hidden>
                    {old}
                  </span>
                  <span className={styles.number} aria-hidden>
                    {now}
                  </span>
                </>
              )}
              <span className={styles.sign} aria-hidden>
                {isHeading ? " " : signs[kind]}
              </span>
              {kind !== "kept" && !isHeading && <span className={styles.spoken}>{t(`ask.diff.${kind}`)}</span>}
              <span className={styles.text}>
                {parts ? (
                  parts.map((part, place) =>
                    part.changed ? (
                      <strong key={place} className={styles.changed}>
                        <MarkedText text={seen(part.text)} />
                      </strong>
                    ) : (
                      <MarkedText key={place} text={seen(part.text)} />
                    ),
                  )
                ) : (
                  <MarkedText text={seen(text)} />
                )}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
