// What can be tried: the tools, prompts, resources and templates of servers as one list. Pure.

import type { ServerCatalog, ServerView, ToolView } from "../generated/types";
import type { PlaygroundKind, PlaygroundRoute } from "../navigation/route";

export type PlaygroundItem = {
  key: string;
  kind: PlaygroundKind;
  server: string;
  serverName: string;
  /** Name on the server; for a resource its URI, for a template its URI template. */
  name: string;
  title: string;
  description: string | null;
};

/** Identifies an item. */
export function itemKey(server: string, kind: PlaygroundKind, name: string): string {
  return JSON.stringify([server, kind, name]);
}

/** The item that a route names, if it names one. */
export function routeKey({ server, kind, item }: PlaygroundRoute): string | null {
  return server === undefined || kind === undefined || item === undefined ? null : itemKey(server, kind, item);
}

/** All items, server by server. */
export function playgroundItems(
  servers: readonly ServerView[],
  tools: readonly ToolView[],
  catalogs: ReadonlyMap<string, ServerCatalog>,
): PlaygroundItem[] {
  return servers.flatMap(({ config }) => {
    const one = (kind: PlaygroundKind, name: string, title: string, description: string | null): PlaygroundItem => ({
      key: itemKey(config.id, kind, name),
      kind,
      server: config.id,
      serverName: config.name,
      name,
      title,
      description,
    });
    const catalog = catalogs.get(config.id);
    return [
      ...tools
        .filter(({ server }) => server === config.id)
        .map(({ name, title, description }) => one("tool", name, title ?? name, description)),
      ...(catalog?.prompts ?? []).map(({ name, title, description }) => one("prompt", name, title, description)),
      ...(catalog?.resources ?? []).map(({ uri, title, description }) => one("resource", uri, title, description)),
      ...(catalog?.templates ?? []).map(({ uriTemplate, title, description }) =>
        one("template", uriTemplate, title, description),
      ),
    ];
  });
}

type ItemFilter = { words: string; server: string; kind: PlaygroundKind | "" };

/** The items that fit: of a server, of a kind (templates are resources), and with all words. */
export function filterItems(items: readonly PlaygroundItem[], { words, server, kind }: ItemFilter): PlaygroundItem[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter((item) => {
    if (server !== "" && item.server !== server) return false;
    if (kind !== "" && item.kind !== kind && !(kind === "resource" && item.kind === "template")) return false;
    const text = `${item.title} ${item.name} ${item.serverName} ${item.description ?? ""}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
