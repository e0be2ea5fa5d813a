import type { WireMessage } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { MessageText } from "./MessageText";
import { utf8Size } from "./contentText";
import contentPartStyles from "./ContentPart.module.css";

/** The messages of a request as they stood on the wire, folded. */
export function WireMessages({ messages }: { messages: readonly WireMessage[] }) {
  const t = useMessages();
  const size = useSizes();
  return (
    <details className={contentPartStyles.part}>
      <summary>{t("result.messages", { count: messages.length })}</summary>
      {messages.length === 0 && <p className="dim">{t("result.noMessages")}</p>}
      {messages.map(({ sent, text: { text, wholeBytes } }, at) => (
        <MessageText key={at} kind={sent ? "sent" : "received"} text={text}>
          {wholeBytes !== null && (
            <p className="dim">{t("result.cut", { count: size(utf8Size(text)), all: size(wholeBytes) })}</p>
          )}
        </MessageText>
      ))}
    </details>
  );
}
