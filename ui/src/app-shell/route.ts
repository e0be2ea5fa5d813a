import { useSyncExternalStore } from "react";

/** Tabs of a server's page. */
export const serverTabs = ["tools", "resources", "prompts", "logs", "settings", "activity"] as const;
export type ServerTab = (typeof serverTabs)[number];

/** Where in the window one is. */
export type Route =
  | { page: "servers" }
  /** `at`: the part of the settings that is wanted. */
  | { page: "server"; id: string; tab: ServerTab; at?: "sign-in" }
  | { page: "approvals" }
  | { page: "permissions" }
  | { page: "activity"; view: "calls" | "events" }
  | { page: "clients" }
  | { page: "settings" };

/** The route that a hash stands for; the servers where it stands for none. */
export function parse(hash: string): Route {
  const [page = "", first, second, third] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  switch (page) {
    case "servers":
      if (!first) return { page: "servers" };
      return {
        page: "server",
        id: first,
        tab: serverTabs.find((tab) => tab === second) ?? "tools",
        ...(second === "settings" && third === "sign-in" && { at: third }),
      };
    case "approvals":
    case "permissions":
    case "clients":
    case "settings":
      return { page };
    case "activity":
      return { page, view: first === "events" ? "events" : "calls" };
    default:
      return { page: "servers" };
  }
}

/** The hash of a route. */
export function format(route: Route): string {
  switch (route.page) {
    case "server":
      return `#/servers/${encodeURIComponent(route.id)}/${route.tab}${route.at === undefined ? "" : `/${route.at}`}`;
    case "activity":
      return `#/activity/${route.view}`;
    case "servers":
    case "approvals":
    case "permissions":
    case "clients":
    case "settings":
      return `#/${route.page}`;
  }
}

/** Goes to a route. */
export function go(route: Route) {
  window.location.hash = format(route);
}

/** The route of now. */
export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, () => window.location.hash));
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
