import { Button } from "@mantine/core";

import type { TruncatedText } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { utf8Size, formatJson } from "./contentText";

/** A text; if it is truncated, it says so and the whole can be saved. */
export function TextContent({
  text: { text, wholeBytes },
  json,
  onSave,
}: {
  text: TruncatedText;
  json: boolean;
  onSave: () => void;
}) {
  const t = useMessages();
  const size = useSizes();
  const whole = wholeBytes === null;
  return (
    <div className="shown-text">
      <pre className={json ? "mono selectable" : "shown-prose selectable"} tabIndex={0}>
        {json && whole ? formatJson(text) : text}
      </pre>
      <span className="shown-copy">
        <CopyButton text={text} label={t(whole ? "result.copy" : "result.copyFirst")} />
      </span>
      {!whole && (
        <p className="shown-cut">
          {t("result.cut", { count: size(utf8Size(text)), all: size(wholeBytes) })}{" "}
          <Button size="compact-xs" variant="light" onClick={onSave}>
            {t("result.saveWhole")}
          </Button>
        </p>
      )}
    </div>
  );
}
