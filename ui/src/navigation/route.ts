import { useSyncExternalStore } from "react";

import type { CallCursor } from "../generated/types";

/** Tabs of a server's page. */
export const serverTabs = ["tools", "resources", "prompts", "logs", "settings", "activity"] as const;
export type ServerTab = (typeof serverTabs)[number];

/** What can be tried in the Playground. */
const playgroundKinds = ["tool", "prompt", "resource", "template"] as const;
export type PlaygroundKind = (typeof playgroundKinds)[number];

/** A part of a server's settings. */
export type SettingsPart = (typeof settingsParts)[number];
const settingsParts = ["sign-in", "update"] as const;

const isSettingsPart = (text: string | undefined): text is SettingsPart => settingsParts.some((part) => part === text);

/** A place in the main window. */
export type Route =
  | { page: "overview" }
  | { page: "servers" }
  /**
   * `at`: the part of the settings that is wanted, or that a newer version is to be filled in; `time`: the moment of the
   * log that is wanted.
   */
  | { page: "server"; id: string; tab: ServerTab; at?: SettingsPart; time?: number }
  | { page: "approvals" }
  | { page: "permissions" }
  | { page: "activity"; view: "calls" | "events" }
  | { page: "clients" }
  | PlaygroundRoute
  | ChatRoute
  /** `at`: the section that is wanted. */
  | { page: "settings"; at?: "models" }
  /** The first steps. */
  | { page: "welcome" };

/** The Playground: an item of a server, as a client, filled in from a recorded call. Each part may be absent. */
export type PlaygroundRoute = {
  page: "playground";
  /** Id of the server. */
  server?: string | undefined;
  kind?: PlaygroundKind | undefined;
  /** Name on the server; for a resource its URI, for a template its URI template. */
  item?: string | undefined;
  /** Id of the client in whose name it is tried; the user's where absent. */
  client?: string | undefined;
  /** The call whose arguments fill the form. Server, kind and item are those of the call where absent. */
  call?: CallCursor | undefined;
};

/** Chat, with a conversation where one is open. */
type ChatRoute = {
  page: "chat";
  /** Id of the conversation; a new one is written where absent. */
  conversation?: string | undefined;
};

/** The route of a hash; the servers page for an unknown one. */
export function parseRoute(hash: string): Route {
  const [path = "", ...query] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", first, second, third] = path.split("/").map(decoded);
  switch (page) {
    case "servers":
      if (!first) return { page: "servers" };
      return {
        page: "server",
        id: first,
        tab: serverTabs.find((tab) => tab === second) ?? "tools",
        ...(second === "settings" && isSettingsPart(third) && { at: third }),
        ...(second === "logs" && third !== undefined && /^\d{1,15}$/.test(third) && { time: Number(third) }),
      };
    case "overview":
    case "approvals":
    case "permissions":
    case "clients":
    case "welcome":
      return { page };
    case "activity":
      return { page, view: first === "events" ? "events" : "calls" };
    case "settings":
      return first === "models" ? { page, at: first } : { page };
    case "chat":
      return first ? { page, conversation: first } : { page };
    case "playground":
      return parsePlayground(new URLSearchParams(query.join("?")));
    default:
      return { page: "servers" };
  }
}

/** The hash of a route. */
export function formatRoute(route: Route): string {
  switch (route.page) {
    case "server": {
      const part = route.at ?? route.time;
      return `#/servers/${encodeURIComponent(route.id)}/${route.tab}${part === undefined ? "" : `/${String(part)}`}`;
    }
    case "activity":
      return `#/activity/${route.view}`;
    case "chat":
      return route.conversation === undefined ? "#/chat" : `#/chat/${encodeURIComponent(route.conversation)}`;
    case "settings":
      return route.at === undefined ? "#/settings" : `#/settings/${route.at}`;
    case "playground":
      return formatPlayground(route);
    case "overview":
    case "servers":
    case "approvals":
    case "permissions":
    case "clients":
    case "welcome":
      return `#/${route.page}`;
  }
}

function parsePlayground(query: URLSearchParams): PlaygroundRoute {
  const part = (name: string) => query.get(name) ?? undefined;
  const kind = playgroundKinds.find((one) => one === part("kind"));
  const at = Number(part("at"));
  const id = part("call");
  const call = id !== undefined && Number.isSafeInteger(at) ? { at, id } : undefined;
  const parts = { server: part("server"), kind, item: part("item"), client: part("client"), call };
  return {
    page: "playground",
    ...Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)),
  };
}

function formatPlayground({ server, kind, item, client, call }: PlaygroundRoute): string {
  const parts = Object.entries({ server, kind, item, client, call: call?.id, at: call?.at });
  const given = parts.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const query = new URLSearchParams(given).toString();
  return query === "" ? "#/playground" : `#/playground?${query}`;
}

/** Navigates to a route. */
export function navigate(route: Route) {
  window.location.hash = formatRoute(route);
}

/** The current route. */
export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(subscribe, () => window.location.hash));
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => {
    window.removeEventListener("hashchange", changed);
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
