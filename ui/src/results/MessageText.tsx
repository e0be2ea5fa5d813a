import type { ReactNode } from "react";
import { useMessages } from "../messages";
import { CopyButton } from "../components/CopyButton";
import styles from "./MessageText.module.css";

/** Sent to the server or received from it; or what the client asked and Gatehouse answered, without the server. */
export type MessageKind = "sent" | "received" | "asked" | "answered";

type MessageTextProps = {
  kind: MessageKind;
  text: string;
  /** What there is to say about the text. */
  children?: ReactNode;
};

/** One message of a request, with who it was from and to. */
export function MessageText({ kind, text, children }: MessageTextProps) {
  const t = useMessages();
  const isRequest = kind === "sent" || kind === "asked";
  return (
    <section className={styles.message}>
      <header>
        <h5>{t(`result.${kind}`)}</h5>
        <CopyButton text={text} label={t(isRequest ? "result.copySent" : "result.copyReceived")} />
      </header>
      <pre className="mono selectable" tabIndex={0}>
        {text}
      </pre>
      {children}
    </section>
  );
}
