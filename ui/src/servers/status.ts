// The state of a server in words.

import type { PolicyView, ServerStatus, ServerView, ToolView } from "../gen/types";
import type { Translate } from "../messages";

export type Tone = "ok" | "wait" | "bad" | "off";

export function toneOf({ state }: ServerStatus): Tone {
  switch (state) {
    case "connected":
      return "ok";
    case "connecting":
    case "needs_auth":
    case "needs_client_registration":
      return "wait";
    case "failed":
      return "bad";
    case "disabled":
    case "stopped":
      return "off";
  }
}

/** One line in plain words. */
export function statusWords(t: Translate, { status, counts }: Pick<ServerView, "status" | "counts">): string {
  switch (status.state) {
    case "disabled":
      return t("servers.off");
    case "stopped":
      return t("servers.stopped");
    case "connecting":
      return status.attempt > 1 ? t("servers.attempt", { attempt: status.attempt }) : t("servers.connecting");
    case "connected":
      return [
        t("servers.running"),
        t("servers.tools", { count: counts.tools }),
        ...(counts.resources > 0 ? [t("servers.resources", { count: counts.resources })] : []),
        ...(counts.prompts > 0 ? [t("servers.prompts", { count: counts.prompts })] : []),
      ].join(" · ");
    case "needs_auth":
      return t("servers.needsAuth");
    case "needs_client_registration":
      return t("servers.needsClient");
    case "failed":
      return status.message;
  }
}

/** The rules of one server. */
export function rulesOf(policy: PolicyView | undefined, server: string) {
  return (policy?.rules ?? []).filter(({ rule }) => rule.server?.server === server);
}

export type Free = "ask" | "reads" | "writes" | "all";

/** Whether a tool runs without asking by what is set for its server as a whole. */
export function passesUnasked(free: Free, { class: { class: access, reachesOutside } }: ToolView): boolean {
  if (free === "all") return true;
  return access === "read" ? free === "reads" && !reachesOutside : free === "writes";
}

/** What runs on a server without asking, for every client and until revoked. */
export function freeOf(policy: PolicyView | undefined, server: string): Free {
  const wide = rulesOf(policy, server)
    .map(({ rule }) => rule)
    .filter(
      ({ effect, clients, lifetime, conditions }) =>
        effect === "allow" && clients.clients === "every" && lifetime.lifetime === "always" && conditions.length === 0,
    )
    .map(({ width }) => width.width);
  const reads = wide.includes("reads");
  const writes = wide.includes("writes");
  if (wide.includes("everything") || (reads && writes)) return "all";
  if (reads) return "reads";
  return writes ? "writes" : "ask";
}
