import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, type ReactNode } from "react";

import type { ShownArgument } from "../gen/types";
import { useMessages } from "../messages";

/** From so many characters on, only the lines in sight are put on the page. */
const LARGE = 20_000;
/** Longer lines are broken, so that no single one is too much to draw. */
const LONGEST_LINE = 400;

/** The whole arguments: nothing is cut; what is long scrolls. */
export function Arguments({ shown }: { shown: readonly ShownArgument[] }) {
  const t = useMessages();
  const size = shown.reduce((sum, { text }) => sum + text.length, 0);
  if (shown.length === 0) return <p className="ask-no-arguments">{t("ask.noArguments")}</p>;
  return size > LARGE ? <LargeArguments shown={shown} /> : <SmallArguments shown={shown} />;
}

function SmallArguments({ shown }: { shown: readonly ShownArgument[] }) {
  const t = useMessages();
  return (
    // Scrolls by keyboard: what does not fit has to be read too.
    <div className="ask-arguments selectable" tabIndex={0} role="group" aria-label={t("ask.arguments")}>
      {shown.map(({ name, text, masked }) => (
        <dl key={name} className="ask-argument">
          <dt>
            <Marked text={name} />
          </dt>
          <dd>
            <Marked text={readable(text)} />
            {masked && <span className="ask-masked">{t("ask.masked")}</span>}
          </dd>
        </dl>
      ))}
    </div>
  );
}

/** The same as lines, of which only those in sight are on the page. */
function LargeArguments({ shown }: { shown: readonly ShownArgument[] }) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => linesOf(shown), [shown]);
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => area.current,
    estimateSize: () => 18,
    overscan: 20,
  });
  return (
    <div className="ask-arguments ask-arguments-large selectable" ref={area} tabIndex={0} role="group" aria-label={t("ask.arguments")}>
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const line = lines[row.index];
          return (
            <div
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              className={line?.isName ? "ask-line ask-line-name" : "ask-line"}
              style={{ transform: `translateY(${String(row.start)}px)` }}
            >
              <Marked text={line?.text ?? ""} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

type Line = { text: string; isName: boolean };

function linesOf(shown: readonly ShownArgument[]): Line[] {
  return shown.flatMap(({ name, text }): Line[] => [
    { text: name, isName: true },
    ...readable(text)
      .split("\n")
      .flatMap((line) => broken(line))
      .map((line) => ({ text: line, isName: false })),
  ]);
}

function broken(line: string): string[] {
  if (line.length <= LONGEST_LINE) return [line];
  const pieces: string[] = [];
  for (let at = 0; at < line.length; at += LONGEST_LINE) pieces.push(line.slice(at, at + LONGEST_LINE));
  return pieces;
}

/** JSON text as people read it: line breaks of a text are line breaks, and its quotes stay around it. */
export function readable(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" && value.includes("\n") ? `"${value}"` : text;
  } catch {
    return text;
  }
}

/** A text in which characters that cannot be seen stand as marks. */
export function Marked({ text }: { text: string }): ReactNode {
  const t = useMessages();
  const parts = text.split(/(⟦U\+[0-9A-F]{4,6}⟧)/);
  if (parts.length === 1) return text;
  return parts.map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <mark key={at} className="ask-hidden" title={t("ask.hiddenMark", { code: part.slice(1, -1) })}>
        {part.slice(1, -1)}
      </mark>
    ),
  );
}
