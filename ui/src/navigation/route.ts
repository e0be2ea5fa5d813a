import { useSyncExternalStore } from "react";

/** Tabs of a server's page. */
export const serverTabs = ["tools", "resources", "prompts", "logs", "settings", "activity"] as const;
export type ServerTab = (typeof serverTabs)[number];

/** A place in the main window. */
export type Route =
  | { page: "servers" }
  /** `at`: the part of the settings that is wanted. */
  | { page: "server"; id: string; tab: ServerTab; at?: "sign-in" }
  | { page: "approvals" }
  | { page: "permissions" }
  | { page: "activity"; view: "calls" | "events" }
  | { page: "clients" }
  | { page: "settings" };

/** The route of a hash; the servers page for an unknown one. */
export function parseRoute(hash: string): Route {
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
export function formatRoute(route: Route): string {
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
