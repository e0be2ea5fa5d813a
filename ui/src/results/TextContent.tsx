import { Button } from "@mantine/core";

import type { TruncatedText } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { Copy } from "../components/CopyButton";
import { bytesOf, pretty } from "./contentText";

/** A text; where it is only the beginning of one, it says so and the whole can be saved. */
export function TextPart({ text: { text, wholeBytes }, json, onSave }: { text: TruncatedText; json: boolean; onSave: () => void }) {
  const t = useMessages();
  const size = useSizes();
  const whole = wholeBytes === null;
  return (
    <div className="shown-text">
      <pre className={json ? "mono selectable" : "shown-prose selectable"} tabIndex={0}>
        {json && whole ? pretty(text) : text}
      </pre>
      <span className="shown-copy">
        <Copy text={text} label={t(whole ? "result.copy" : "result.copyFirst")} />
      </span>
      {!whole && (
        <p className="shown-cut">
          {t("result.cut", { count: size(bytesOf(text)), all: size(wholeBytes) })}{" "}
          <Button size="compact-xs" variant="light" onClick={onSave}>
            {t("result.saveWhole")}
          </Button>
        </p>
      )}
    </div>
  );
}
