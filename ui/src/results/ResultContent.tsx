import "./results.css";

import { Alert, Button } from "@mantine/core";
import { IconAlertCircle, IconAlertTriangle, IconCircleCheck, IconDeviceFloppy } from "@tabler/icons-react";
import { useId } from "react";

import { tookWords } from "../activity/labels";
import type { ResultView, ResultStatus } from "../generated/types";
import { useMessages, useSizes, type Translate } from "../messages";
import { Part } from "./ContentPart";
import { TextPart } from "./TextContent";
import { useSave } from "./useSaveResult";

/** What a server gave, part by part. `server` is who is asked where a part is a link to more. */
export function ShownResult({ shown, server }: { shown: ResultView; server: string }) {
  const t = useMessages();
  const size = useSizes();
  const save = useSave(shown.id);
  const title = useId();
  const { end, parts, structured, unfit, meta } = shown;
  const isGood = end.end === "ok" && unfit === null;
  return (
    <section className="shown" aria-labelledby={title}>
      <header className="shown-head">
        <span id={title} className={isGood ? "shown-ok" : "shown-bad"}>
          {isGood ? <IconCircleCheck size={16} aria-hidden /> : <IconAlertCircle size={16} aria-hidden />} {endWords(t, end, unfit)}
        </span>
        <span className="dim">
          {tookWords(t, shown.tookMs)} · {size(shown.bytes)}
        </span>
        <Button
          size="compact-sm"
          variant="default"
          className="shown-save"
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
          <p className="shown-plain mono selectable">{unfit}</p>
        </Alert>
      )}
      {end.end === "error" && <p className="shown-message selectable">{end.message}</p>}
      {end.end !== "error" && parts.length === 0 && structured === null && <p className="dim">{t("result.nothing")}</p>}
      {parts.map((part, at) => (
        <Part key={at} part={part} at={at} result={shown.id} server={server} />
      ))}
      {structured !== null && (
        <div className="shown-part">
          <h4>{t("result.structured")}</h4>
          <TextPart text={structured} json onSave={() => { save.run(null); }} />
        </div>
      )}
      {meta !== null && (
        <details className="shown-part">
          <summary>{t("result.meta")}</summary>
          <TextPart text={{ text: meta, wholeBytes: null }} json onSave={() => { save.run(null); }} />
        </details>
      )}
    </section>
  );
}

function endWords(t: Translate, end: ResultStatus, unfit: string | null): string {
  switch (end.end) {
    case "ok":
      return t(unfit === null ? "result.ok" : "result.unfit");
    case "tool_error":
      return t("result.toolError");
    case "error":
      return t("result.error", { code: String(end.code) });
  }
}
