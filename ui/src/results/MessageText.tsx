import type { ReactNode } from "react";
import { useMessages } from "../messages";
import { CopyButton } from "../components/CopyButton";
import styles from "./MessageText.module.css";

type MessageTextProps = {
  /** Whether it went to the server. */
  sent: boolean;
  text: string;
  /** What there is to say about the text. */
  children?: ReactNode;
};

/** One message of a request, with its direction. */
export function MessageText({ sent, text, children }: MessageTextProps) {
  const t = useMessages();
  return (
    <section className={styles.message}>
      <header>
        <h5>{t(sent ? "result.sent" : "result.received")}</h5>
        <CopyButton text={text} label={t(sent ? "result.copySent" : "result.copyReceived")} />
      </header>
      <pre className="mono selectable" tabIndex={0}>
        {text}
      </pre>
      {children}
    </section>
  );
}
