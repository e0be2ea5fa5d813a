import { Button } from "@mantine/core";
import { IconFile, IconLink } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";

import { useCore } from "../core/CoreProvider";
import { useReading } from "../core/useCoreQuery";
import type { ResultContent, ResultPart } from "../generated/types";
import { useMessages, useSizes } from "../messages";
import { isOffered } from "../catalog/uriTemplate";
import { ProblemAlert } from "../components/ErrorAlert";
import { Waiting } from "../components/LoadingIndicator";
import { ShownResult } from "./ResultContent";
import { isJson, shownAs } from "./contentText";
import { TextPart } from "./TextContent";
import { useSave } from "./useSaveResult";
import { useShown } from "./useResultRequest";

type Props = { part: ResultPart; at: number; result: string; server: string };

/** One part of what a server gave, whatever it is. */
export function Part({ part: { role, content }, at, result, server }: Props) {
  const t = useMessages();
  const save = useSave(result);
  const onSave = () => {
    save.run(at);
  };
  return (
    <div className="shown-part">
      {role !== null && <h4>{role === "user" || role === "assistant" ? t(`result.role.${role}`) : role}</h4>}
      <Content content={content} server={server} onSave={onSave} />
    </div>
  );
}

type ContentProps<Content> = { content: Content; onSave: () => void };
type Of<Kind extends ResultContent["kind"]> = Extract<ResultContent, { kind: Kind }>;

function Content({ content, server, onSave }: ContentProps<ResultContent> & { server: string }) {
  switch (content.kind) {
    case "text":
      return (
        <>
          <Where uri={content.uri} mimeType={content.mimeType} />
          <TextPart text={content.text} json={isJson(content.text.text, content.mimeType)} onSave={onSave} />
        </>
      );
    case "binary":
      return <Binary content={content} onSave={onSave} />;
    case "link":
      return <Link content={content} server={server} />;
    case "other":
      return <TextPart text={content.json} json onSave={onSave} />;
  }
}

/** Which resource it is, and of which type. */
function Where({ uri, mimeType }: { uri: string | null; mimeType: string | null }) {
  if (uri === null && mimeType === null) return null;
  return (
    <p className="shown-where">
      {uri !== null && <code className="selectable">{uri}</code>} {mimeType !== null && <span className="dim">{mimeType}</span>}
    </p>
  );
}

/** Seen or heard where that can be; anything else is a file to save. */
function Binary({ content: { mimeType, data, bytes, uri }, onSave }: ContentProps<Of<"binary">>) {
  const t = useMessages();
  const size = useSizes();
  const [broken, setBroken] = useState(false);
  const kind = data === null || broken ? null : shownAs(mimeType);
  const address = `data:${mimeType};base64,${data ?? ""}`;
  const onError = () => {
    setBroken(true);
  };
  let shown: ReactNode = null;
  if (kind === "image") shown = <img src={address} alt={uri ?? t("result.image")} onError={onError} />;
  if (kind === "audio") shown = <audio controls src={address} aria-label={uri ?? t("result.audio")} onError={onError} />;
  return (
    <div className="shown-binary">
      {shown}
      <div className="shown-file">
        {shown === null && <IconFile size={22} stroke={1.5} aria-hidden />}
        <span className="shown-file-words">
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

/** A resource that is named and not given; one of this server can be read here. */
function Link({ content: { uri, title, mimeType }, server }: { content: Of<"link">; server: string }) {
  const t = useMessages();
  const { platform } = useCore();
  const offer = useReading("servers.offer", { server }).data;
  const { shown, problem, busy, run } = useShown();
  return (
    <>
      <div className="shown-file">
        <IconLink size={20} stroke={1.5} aria-hidden />
        <span className="shown-file-words">
          <span>{title}</span>
          <code className="selectable">{uri}</code>
          {mimeType !== null && <span className="dim">{mimeType}</span>}
        </span>
        {offer && isOffered(offer, uri) && (
          <Button
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => void run(platform.command("servers.readResource", { server, uri }))}
          >
            {t("offer.read")}
          </Button>
        )}
      </div>
      {busy && shown === null && <Waiting />}
      {problem && <ProblemAlert problem={problem} />}
      {shown && <ShownResult shown={shown} server={server} />}
    </>
  );
}
