import clsx from "clsx";
import { useMemo, useState, type ReactNode } from "react";

import type { ShownArgument } from "../../generated/types";
import { useMessages } from "../../messages";
import { displayText, type ArgumentText } from "./textBlocks";
import { editPairOf, hasFormattedView } from "./editPairs";
import { parseTree, type JsonMember } from "./jsonTree";
import { EditView, JsonValue } from "./JsonValue";
import { LargeArguments } from "./LargeArguments";
import { SecretToggle } from "./SecretToggle";
import { MarkedText } from "../../components/MarkedText";
import { useRevealedArguments } from "./useRevealedArguments";
import secretToggleStyles from "./SecretToggle.module.css";
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
  return <ArgumentList shown={shown} sources={sources} mask={mask} />;
}

type ListProps = {
  shown: readonly ShownArgument[];
  /** The arguments with those that were revealed. */
  sources: readonly ArgumentText[];
  mask: (argument: number) => ReactNode;
};

/**
 * Nested values and edits of a text are formatted, with a switch to the arguments as they are sent; either view has all
 * of them.
 */
function ArgumentList({ shown, sources, mask }: ListProps) {
  const t = useMessages();
  const [asSent, setAsSent] = useState(false);
  const all = useMemo(() => sources.map(memberOf), [sources]);
  const isExtra = (at: number) => shown[at]?.extra === true;
  const own = all.filter((_, at) => !isExtra(at));
  const canFormat = hasFormattedView(own);
  const pair = canFormat && !asSent ? editPairOf(own) : null;
  const argument = (at: number, value: ReactNode) => {
    const name = sources[at]?.name ?? "";
    return (
      <dl key={`${String(isExtra(at))} ${name}`} className={styles.argument}>
        <dt>
          <MarkedText text={name} />
        </dt>
        <dd>
          {value}
          {mask(at)}
        </dd>
      </dl>
    );
  };
  const asText = (at: number) => argument(at, <MarkedText text={displayText(sources[at]?.text ?? "")} />);
  const formatted = (member: JsonMember, at: number) => {
    if (member === pair?.before) {
      return (
        <div key={member.name} className={styles.edit}>
          <EditView pair={pair} />
          {mask(at)}
          {mask(all.indexOf(pair.after))}
        </div>
      );
    }
    return member === pair?.after ? null : argument(at, <JsonValue member={member} />);
  };
  const drawn = all.map((member, at) => (isExtra(at) || !canFormat || asSent ? asText(at) : formatted(member, at)));
  const extras = drawn.filter((_, at) => isExtra(at));
  return (
    <>
      {canFormat && (
        <button
          type="button"
          className={clsx(secretToggleStyles.link, styles.view)}
          onClick={() => {
            setAsSent(!asSent);
          }}
        >
          {t(asSent ? "ask.view.formatted" : "ask.view.sent")}
        </button>
      )}
      {/* Focusable, so that it scrolls by keyboard. */}
      <div className={clsx(styles.arguments, "selectable")} tabIndex={0} role="group" aria-label={t("ask.arguments")}>
        {own.length > 0 ? drawn.filter((_, at) => !isExtra(at)) : <p className={styles.none}>{t("ask.noArguments")}</p>}
        {extras.length > 0 && (
          <details>
            <summary>{t("ask.extras")}</summary>
            {extras}
          </details>
        )}
      </div>
    </>
  );
}

/** An argument with its value as a tree; as the text that it is where it has none. */
function memberOf({ name, text }: ArgumentText): JsonMember {
  return { name, value: parseTree(text) ?? { kind: "scalar", text } };
}
