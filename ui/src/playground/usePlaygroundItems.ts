import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { useCore } from "../core/CoreProvider";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ServerCatalog, ServerView, ToolView, UserError } from "../generated/types";
import { playgroundItems, type PlaygroundItem } from "./items";

const noServers: readonly ServerView[] = [];
const noTools: readonly ToolView[] = [];

export type PlaygroundItems = {
  items: readonly PlaygroundItem[];
  servers: readonly ServerView[];
  tools: readonly ToolView[];
  /** What servers offer beside their tools, by their ids. */
  catalogs: ReadonlyMap<string, ServerCatalog>;
  loading: boolean;
  error: UserError | null;
};

/** What all servers offer. A server whose catalog cannot be read is without prompts and resources here. */
export function usePlaygroundItems(): PlaygroundItems {
  const { platform } = useCore();
  const servers = useCoreQuery("servers.list", {});
  const tools = useCoreQuery("tools.list", { server: null });
  const views = servers.data ?? noServers;
  const listed = tools.data ?? noTools;
  const catalogs = useQueries({
    queries: views.map(({ config: { id: server } }) => ({
      queryKey: ["servers.catalog", { server }],
      queryFn: async () => platform.command("servers.catalog", { server }),
    })),
    combine: (all) => all.map(({ data }) => data),
  });
  const known = useMemo(
    () =>
      new Map(
        views.flatMap(({ config }, at): [string, ServerCatalog][] => {
          const catalog = catalogs[at];
          return catalog ? [[config.id, catalog]] : [];
        }),
      ),
    [views, catalogs],
  );
  const items = useMemo(() => playgroundItems(views, listed, known), [views, listed, known]);
  return {
    items,
    servers: views,
    tools: listed,
    catalogs: known,
    loading: servers.loading || tools.loading,
    error: servers.error ?? tools.error,
  };
}
