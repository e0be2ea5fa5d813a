import { Button } from "@mantine/core";
import { IconFile, IconLink } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

import { useCore } from "../core/CoreProvider";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ResultContent, ResultPart, ResultView } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { isInCatalog } from "../core/uriTemplate";
import { formatRoute } from "../navigation/route";
import { ErrorAlert } from "../components/ErrorAlert";
import { RunProgress } from "../running/RunProgress";
import { isJson, mediaKind } from "./contentText";
import { TextContent } from "./TextContent";
import { useSaveResult } from "./useSaveResult";
import { useResultRequest } from "./useResultRequest";
import styles from "./ContentPart.module.css";

type LinkProps = {
  server: string;
  /** Shows the result of reading a linked resource. */
  renderResult: (shown: ResultView) => ReactNode;
};

type Props = LinkProps & { part: ResultPart; at: number; result: string };

/** One content part of a result. */
export function ContentPart({ part: { role, content }, at, result, ...link }: Props) {
  const t = useMessages();
  const save = useSaveResult(result);
  const onSave = () => {
    save.run(at);
  };
  return (
    <div className={styles.part}>
      {role !== null && <h4>{role === "user" || role === "assistant" ? t(`result.role.${role}`) : role}</h4>}
      <Content content={content} onSave={onSave} {...link} />
    </div>
  );
}

type ContentProps<Content> = { content: Content; onSave: () => void };
type Of<Kind extends ResultContent["kind"]> = Extract<ResultContent, { kind: Kind }>;

function Content({ content, onSave, ...link }: ContentProps<ResultContent> & LinkProps) {
  switch (content.kind) {
    case "text":
      return (
        <>
          <ResourceOrigin uri={content.uri} mimeType={content.mimeType} />
          <TextContent text={content.text} json={isJson(content.text.text, content.mimeType)} onSave={onSave} />
        </>
      );
    case "binary":
      return <BinaryContent content={content} onSave={onSave} />;
    case "link":
      return <ResourceLink content={content} {...link} />;
    case "other":
      return <TextContent text={content.json} json onSave={onSave} />;
  }
}

/** URI and media type of a resource. */
function ResourceOrigin({ uri, mimeType }: { uri: string | null; mimeType: string | null }) {
  if (uri === null && mimeType === null) return null;
  return (
    <p className={styles.origin}>
      {uri !== null && <code className="selectable">{uri}</code>}{" "}
      {mimeType !== null && <span className="dim">{mimeType}</span>}
    </p>
  );
}

/** An image or audio player if possible; else a file to save. */
function BinaryContent({ content: { mimeType, data, bytes, uri }, onSave }: ContentProps<Of<"binary">>) {
  const t = useMessages();
  const size = useSizes();
  const [broken, setBroken] = useState(false);
  const kind = data === null || broken ? null : mediaKind(mimeType);
  const address = `data:${mimeType};base64,${data ?? ""}`;
  const onError = () => {
    setBroken(true);
  };
  let shown: ReactNode = null;
  if (kind === "image") shown = <img src={address} alt={uri ?? t("result.image")} onError={onError} />;
  if (kind === "audio")
    shown = <audio controls src={address} aria-label={uri ?? t("result.audio")} onError={onError} />;
  return (
    <div className={styles.binary}>
      {shown}
      <div className={styles.file}>
        {shown === null && <IconFile size={22} stroke={1.5} aria-hidden />}
        <span className={styles.fileText}>
          {uri !== null && <code className="selectable">{uri}</code>}
          <span className="dim">
            {mimeType} · {size(bytes)}
          </span>
          {data === null && <span className="dim">{t("result.tooLarge")}</span>}
        </span>
        <Button size="compact-sm" variant="default" onClick={onSave}>
          {t("result.save")}
        </Button>
      </div>
    </div>
  );
}

/** A resource link; resources of the same server can be read in place, or opened in the Playground. */
function ResourceLink({
  content: { uri, title, mimeType },
  server,
  renderResult,
}: LinkProps & { content: Of<"link"> }) {
  const t = useMessages();
  const { platform } = useCore();
  const catalog = useCoreQuery("servers.catalog", { server }).data;
  const { shown, error, running, busy, run, cancel } = useResultRequest();
  return (
    <>
      <div className={styles.file}>
        <IconLink size={20} stroke={1.5} aria-hidden />
        <span className={styles.fileText}>
          <span>{title}</span>
          <code className="selectable">{uri}</code>
          {mimeType !== null && <span className="dim">{mimeType}</span>}
        </span>
        {catalog && isInCatalog(catalog, uri) && (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() =>
              void run(async (run) => platform.command("servers.readResource", { server, uri, client: null, run }))
            }
          >
            {t("catalog.read")}
          </Button>
        )}
        {busy && (
          <Button size="compact-sm" variant="default" onClick={cancel}>
            {t("catalog.cancel")}
          </Button>
        )}
        {catalog && isInCatalog(catalog, uri) && (
          <Button
            size="compact-sm"
            variant="subtle"
            component="a"
            href={formatRoute({ page: "playground", server, kind: "resource", item: uri })}
            aria-label={t("result.openLink", { title })}
          >
            {t("result.open")}
          </Button>
        )}
      </div>
      {running !== null && shown === null && <RunProgress run={running} />}
      {error && <ErrorAlert error={error} />}
      {shown && renderResult(shown)}
    </>
  );
}
