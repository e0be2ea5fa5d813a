import { Alert, Button } from "@mantine/core";
import { IconAlertCircle, IconAlertTriangle, IconCircleCheck, IconDeviceFloppy } from "@tabler/icons-react";
import clsx from "clsx";
import { useId } from "react";

import type { ResultView, ResultStatus } from "../generated/types";
import { useMessages, useSizes, type Translate } from "../messages";
import { durationLabel } from "../messages/duration";
import { ContentPart } from "./ContentPart";
import { TextContent } from "./TextContent";
import { WireMessages } from "./WireMessages";
import { useSaveResult } from "./useSaveResult";
import contentPartStyles from "./ContentPart.module.css";
import styles from "./ResultParts.module.css";

/** A result, part by part. `server` is where linked resources are read from. */
export function ResultParts({ shown, server }: { shown: ResultView; server: string }) {
  const t = useMessages();
  const size = useSizes();
  const save = useSaveResult(shown.id);
  const title = useId();
  const { end, parts, structured, unfit, meta, verdict } = shown;
  const isDenied = verdict?.decision === "deny";
  const isGood = end.end === "ok" && unfit === null;
  const renderResult = (linked: ResultView) => <ResultParts shown={linked} server={server} />;
  return (
    <section className={styles.result} aria-labelledby={title}>
      <header className={styles.head}>
        <span id={title} className={isGood ? styles.ok : styles.bad}>
          {isGood ? <IconCircleCheck size={16} aria-hidden /> : <IconAlertCircle size={16} aria-hidden />}{" "}
          {isDenied ? t("result.denied") : statusLabel(t, end, unfit)}
        </span>
        <span className="dim">
          {durationLabel(t, shown.tookMs)}
          {shown.waitedMs > 0 && ` · ${t("result.waited", { took: durationLabel(t, shown.waitedMs) })}`} ·{" "}
          {size(shown.bytes)}
        </span>
        <Button
          size="compact-sm"
          variant="default"
          className={styles.save}
          loading={save.busy}
          leftSection={<IconDeviceFloppy size={14} aria-hidden />}
          onClick={() => {
            save.run(null);
          }}
        >
          {t("result.saveAll")}
        </Button>
      </header>
      {unfit !== null && (
        <Alert color="orange" title={t("result.unfitText")} icon={<IconAlertTriangle size={18} aria-hidden />}>
          <p className={clsx(styles.plain, "mono", "selectable")}>{unfit}</p>
        </Alert>
      )}
      {end.end === "error" && <p className={clsx(styles.message, "selectable")}>{end.message}</p>}
      {end.end !== "error" && parts.length === 0 && structured === null && <p className="dim">{t("result.nothing")}</p>}
      {parts.map((part, at) => (
        <ContentPart key={at} part={part} at={at} result={shown.id} server={server} renderResult={renderResult} />
      ))}
      {structured !== null && (
        <div className={contentPartStyles.part}>
          <h4>{t("result.structured")}</h4>
          <TextContent
            text={structured}
            json
            onSave={() => {
              save.run(null);
            }}
          />
        </div>
      )}
      {meta !== null && (
        <details className={contentPartStyles.part}>
          <summary>{t("result.meta")}</summary>
          <TextContent
            text={{ text: meta, wholeBytes: null }}
            json
            onSave={() => {
              save.run(null);
            }}
          />
        </details>
      )}
      <WireMessages messages={shown.messages} />
    </section>
  );
}

function statusLabel(t: Translate, end: ResultStatus, unfit: string | null): string {
  switch (end.end) {
    case "ok":
      return t(unfit === null ? "result.ok" : "result.unfit");
    case "tool_error":
      return t("result.toolError");
    case "error":
      return t("result.error", { code: String(end.code) });
  }
}
