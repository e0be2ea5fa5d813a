import { useMemo } from "react";

import type { ShownArgument } from "../../generated/types";
import { useMessages } from "../../messages";
import { readable } from "./textBlocks";
import { LargeArguments } from "./LargeArguments";
import { Mask } from "./SecretToggle";
import { Marked } from "./MarkedText";
import { useRevealed } from "./useRevealedArguments";

/** From so many characters on, only what is in sight is put on the page. */
const LARGE = 20_000;

type Props = {
  shown: readonly ShownArgument[];
  /** Changes when what was revealed has to be hidden again. */
  veil: number;
  /** Gives one argument without its mask. */
  onReveal: (argument: number) => Promise<string>;
};

/** The whole arguments: nothing is cut; what is long scrolls; what is masked is shown when the user asks for it. */
export function Arguments({ shown, veil, onReveal }: Props) {
  const t = useMessages();
  const { all, show, hide } = useRevealed(veil, onReveal);
  const sources = useMemo(
    () =>
      shown.map(({ name, text }, at) => {
        const one = all.get(at);
        return { name, text: one && "text" in one ? one.text : text };
      }),
    [shown, all],
  );
  if (shown.length === 0) return <p className="ask-no-arguments">{t("ask.noArguments")}</p>;
  const mask = (at: number) =>
    shown[at]?.masked === true && (
      <Mask name={shown[at].name} revealed={all.get(at)} onShow={() => { show(at); }} onHide={() => { hide(at); }} />
    );
  const size = shown.reduce((sum, { text }) => sum + text.length, 0);
  if (size > LARGE) return <LargeArguments sources={sources} mask={mask} />;
  const drawn = sources.map(({ name, text }, at) => (
    <dl key={`${String(shown[at]?.extra)} ${name}`} className="ask-argument">
      <dt>
        <Marked text={name} />
      </dt>
      <dd>
        <Marked text={readable(text)} />
        {mask(at)}
      </dd>
    </dl>
  ));
  const own = drawn.filter((_, at) => shown[at]?.extra !== true);
  const extras = drawn.filter((_, at) => shown[at]?.extra === true);
  return (
    // Scrolls by keyboard: what does not fit has to be read too.
    <div className="ask-arguments selectable" tabIndex={0} role="group" aria-label={t("ask.arguments")}>
      {own.length > 0 ? own : <p className="ask-no-arguments">{t("ask.noArguments")}</p>}
      {extras.length > 0 && (
        <details>
          <summary>{t("ask.extras")}</summary>
          {extras}
        </details>
      )}
    </div>
  );
}
