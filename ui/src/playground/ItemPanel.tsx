import { Alert, Button } from "@mantine/core";
import { IconPlugOff, IconUnlink } from "@tabler/icons-react";
import { lazy, Suspense } from "react";

import { CallDetails } from "../activity/CallDetails";
import { PromptPanel } from "../catalog/PromptPanel";
import { ResourcePanel, TemplatePanel } from "../catalog/ResourcePanel";
import type { CallRecord, ResourceView, ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { formatRoute, type PlaygroundKind } from "../navigation/route";
import { EmptyState } from "../components/EmptyState";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { AsClient } from "./AsClient";
import { itemKey } from "./items";
import { recordedPromptValues } from "../activity/recordedArguments";
import { useKept } from "./useKept";
import type { PlaygroundItems } from "./usePlaygroundItems";

/** Brings a form for any schema, and an editor. */
const ToolPanel = lazy(() => import("./ToolPanel"));

type Props = {
  server: string;
  kind: PlaygroundKind;
  item: string;
  known: PlaygroundItems;
  client: string | null;
  onClient: (client: string | null) => void;
  record: CallRecord | null;
};

/** The item that is tried. What was entered stays while its server doesn't offer the item. */
export function ItemPanel({ server, kind, item, known, client, onClient, record }: Props) {
  const t = useMessages();
  const { servers, tools, catalogs, loading } = known;
  const key = itemKey(server, kind, item);
  const listedServer = servers.find(({ config }) => config.id === server);
  const listedTool = kind === "tool" ? tools.find((one) => one.server === server && one.name === item) : undefined;
  const catalog = useKept(server, catalogs.get(server));
  const tool = useKept(key, listedTool);
  const prompt = useKept(key, kind === "prompt" ? catalog?.prompts.find(({ name }) => name === item) : undefined);
  const template = useKept(
    key,
    kind === "template" ? catalog?.templates.find(({ uriTemplate }) => uriTemplate === item) : undefined,
  );
  const view = useKept(server, listedServer);
  const isTool = kind === "tool" && tool !== undefined;
  const isGone = listedServer === undefined || (kind === "tool" && listedTool === undefined);
  const as = <AsClient client={client} onClient={onClient} />;
  if (isTool || (catalog && (prompt ?? template ?? (kind === "resource" ? item : undefined)) !== undefined)) {
    return (
      <>
        {view && <ServerNote view={view} isGone={isGone} />}
        {isTool && (
          <Suspense fallback={<LoadingIndicator />}>
            <ToolPanel tool={tool} isGone={isGone} client={client} onClient={onClient} record={record} />
          </Suspense>
        )}
        {!isTool && as}
        {catalog && prompt && (
          <PromptPanel
            prompt={prompt}
            server={server}
            completes={catalog.declared.completions}
            client={client}
            {...(record && { given: recordedPromptValues(record) })}
          />
        )}
        {catalog && kind === "resource" && (
          <ResourcePanel
            resource={catalog.resources.find(({ uri }) => uri === item) ?? unlisted(item)}
            server={server}
            catalog={catalog}
            client={client}
          />
        )}
        {catalog && template && <TemplatePanel template={template} server={server} catalog={catalog} client={client} />}
        {!isTool && record && <CallDetails record={record} />}
      </>
    );
  }
  if (loading || (listedServer && !catalogs.has(server))) return <LoadingIndicator />;
  return (
    <>
      <EmptyState icon={<IconUnlink size={26} />} title={t("playground.gone")} text={t("playground.goneText")} />
      {record && <CallDetails record={record} />}
    </>
  );
}

/** A resource that no list names, such as one that a result links to. */
function unlisted(uri: string): ResourceView {
  return { uri, title: uri, description: null, mimeType: null, size: null };
}

/** Says that a server doesn't run, or doesn't offer what is open. */
function ServerNote({ view: { config, status }, isGone }: { view: ServerView; isGone: boolean }) {
  const t = useMessages();
  if (!isGone && status.state === "connected") return null;
  return (
    <Alert color="orange" icon={<IconPlugOff size={18} aria-hidden />} role="status">
      {t(isGone ? "playground.goneNow" : "playground.notRunning", { server: config.name })}{" "}
      <Button
        size="compact-xs"
        variant="light"
        component="a"
        href={formatRoute({ page: "server", id: config.id, tab: "tools" })}
      >
        {t("playground.openServer")}
      </Button>
    </Alert>
  );
}
