import clsx from "clsx";
import { useMemo } from "react";

import type { ShownArgument } from "../../generated/types";
import { useMessages } from "../../messages";
import { displayText } from "./textBlocks";
import { LargeArguments } from "./LargeArguments";
import { SecretToggle } from "./SecretToggle";
import { MarkedText } from "../../components/MarkedText";
import { useRevealedArguments } from "./useRevealedArguments";
import styles from "./CallArguments.module.css";

/** From this number of characters on, only visible blocks are rendered. */
const LARGE = 20_000;

type Props = {
  shown: readonly ShownArgument[];
  /** Changes when revealed arguments have to be hidden again. */
  veil: number;
  /** Reads one argument unmasked. */
  onReveal: (argument: number) => Promise<string>;
};

/** All arguments in full. Long values scroll; masked ones can be revealed. */
export function CallArguments({ shown, veil, onReveal }: Props) {
  const t = useMessages();
  const { all, show, hide } = useRevealedArguments(veil, onReveal);
  const sources = useMemo(
    () =>
      shown.map(({ name, text }, at) => {
        const one = all.get(at);
        return { name, text: one && "text" in one ? one.text : text };
      }),
    [shown, all],
  );
  if (shown.length === 0) return <p className={styles.none}>{t("ask.noArguments")}</p>;
  const mask = (at: number) =>
    shown[at]?.masked === true && (
      <SecretToggle
        name={shown[at].name}
        revealed={all.get(at)}
        onShow={() => {
          show(at);
        }}
        onHide={() => {
          hide(at);
        }}
      />
    );
  const size = shown.reduce((sum, { text }) => sum + text.length, 0);
  if (size > LARGE) return <LargeArguments sources={sources} mask={mask} />;
  const drawn = sources.map(({ name, text }, at) => (
    <dl key={`${String(shown[at]?.extra)} ${name}`} className={styles.argument}>
      <dt>
        <MarkedText text={name} />
      </dt>
      <dd>
        <MarkedText text={displayText(text)} />
        {mask(at)}
      </dd>
    </dl>
  ));
  const own = drawn.filter((_, at) => shown[at]?.extra !== true);
  const extras = drawn.filter((_, at) => shown[at]?.extra === true);
  return (
    // Focusable, so that it scrolls by keyboard.
    <div className={clsx(styles.arguments, "selectable")} tabIndex={0} role="group" aria-label={t("ask.arguments")}>
      {own.length > 0 ? own : <p className={styles.none}>{t("ask.noArguments")}</p>}
      {extras.length > 0 && (
        <details>
          <summary>{t("ask.extras")}</summary>
          {extras}
        </details>
      )}
    </div>
  );
}
