import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";

import type { PendingAsk } from "../gen/types";
import { useMessages } from "../messages";
import type { End } from "./queue";

/** What is left of a question, in its place. */
export function Tombstone({ pending, end, place }: { pending: PendingAsk; end: End; place?: ReactNode }) {
  const t = useMessages();
  const { ask } = pending;
  return (
    <article className="ask ask-over">
      <header className="ask-head">
        <div className="ask-who">
          <strong>{ask.ask === "call" ? ask.client.name : t("app.name")}</strong>
        </div>
        {place}
      </header>
      {ask.ask === "call" && (
        <div className="ask-what">
          <h2>{ask.title}</h2>
        </div>
      )}
      <p className={`ask-end ask-end-${end}`} role="status">
        {end === "allowed" && <IconCheck size={18} aria-hidden />}
        {end === "denied" && <IconX size={18} aria-hidden />}
        {end === "ended" && <IconClock size={18} aria-hidden />}
        {t(`ask.end.${end}`)}
      </p>
    </article>
  );
}
