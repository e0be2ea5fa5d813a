import { IconServer2, IconX } from "@tabler/icons-react";
import { useEffect, useRef, type ReactNode } from "react";

import type { AskClient, AskServer } from "../gen/types";
import { useMessages } from "../messages";

type Props = {
  /** Id of the heading. */
  id: string;
  title: string;
  server: AskServer;
  client: AskClient | null;
  awake: boolean;
  /** Whether the keyboard begins here. */
  focus: boolean;
  place?: ReactNode;
  onCancel: () => void;
};

/** Who asks: the server, and whose call it is about where that is known. */
export function AskedBy({ id, title, server, client, awake, focus, place, onCancel }: Props) {
  const t = useMessages();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (focus) heading.current?.focus({ preventScroll: true });
  }, [focus]);
  return (
    <>
      <header className="ask-head">
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <span className="ask-corner">
          {place}
          <button
            type="button"
            className="ask-arrow"
            aria-label={t("ask.cancel")}
            title={t("ask.cancel")}
            aria-disabled={!awake}
            onClick={() => {
              if (awake) onCancel();
            }}
          >
            <IconX size={16} aria-hidden />
          </button>
        </span>
      </header>
      <p className="ask-where" title={server.description ?? undefined}>
        <IconServer2 size={14} aria-hidden /> {client === null ? t("ask.byServer", { server: server.name }) : t("ask.byServerFor", { server: server.name, client: client.name })}
      </p>
    </>
  );
}
