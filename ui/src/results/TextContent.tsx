import { Button } from "@mantine/core";

import clsx from "clsx";
import type { TruncatedText } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { utf8Size, formatJson } from "./contentText";
import styles from "./TextContent.module.css";

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
    <div className={styles.text}>
      <pre className={json ? "mono selectable" : clsx(styles.prose, "selectable")} tabIndex={0}>
        {json && whole ? formatJson(text) : text}
      </pre>
      <span className={styles.copy}>
        <CopyButton text={text} label={t(whole ? "result.copy" : "result.copyFirst")} />
      </span>
      {!whole && (
        <p className={styles.truncated}>
          {t("result.cut", { count: size(utf8Size(text)), all: size(wholeBytes) })}{" "}
          <Button size="compact-xs" variant="light" onClick={onSave}>
            {t("result.saveWhole")}
          </Button>
        </p>
      )}
    </div>
  );
}
