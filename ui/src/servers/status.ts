// The state of a server in words.

import type { ServerStatus, ServerView, Transport } from "../generated/types";
import type { Translate } from "../messages";
import { textLine } from "../messages/userError";
import { joinCommand } from "./commandLine";

/** Attempts of a row: the first, and its five retries (SRV-4). A call may add one. */
export const ATTEMPTS_PER_ROUND = 6;

export type Tone = "ok" | "wait" | "bad" | "off";

export function statusTone({ state }: ServerStatus): Tone {
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

/** Whether a list is only what the server offered when it was last connected. */
export function isLastKnown(
  { status, counts }: Pick<ServerView, "status" | "counts">,
  what: "tools" | "resources" | "prompts",
): boolean {
  return status.state !== "connected" && status.state !== "disabled" && counts[what] > 0;
}

/** "1 tool", "14 tools". */
export function countLabel(t: Translate, what: "tools" | "resources" | "prompts" | "attempts", count: number): string {
  return t(`servers.${what}`, { count });
}

/** Whether it waits for the user to sign in, and nobody does so yet. */
export function wantsSignIn({ status, signIn }: Pick<ServerView, "status" | "signIn">): boolean {
  return status.state === "needs_auth" && signIn !== null && signIn.is !== "waiting";
}

/** The host of an address; all of it where it is none. */
export function hostOf(address: string): string {
  return /^[a-z]+:\/\/([^/?#]+)/i.exec(address)?.[1] ?? address;
}

/** One line in plain words. */
export function statusLine(
  t: Translate,
  { status, counts, signIn }: Pick<ServerView, "status" | "counts" | "signIn">,
): string {
  switch (status.state) {
    case "disabled":
      return t("servers.off");
    case "stopped":
      return t("servers.stopped");
    case "connecting":
      if (status.attempt <= 1) return t("servers.connecting");
      return status.attempt <= ATTEMPTS_PER_ROUND
        ? t("servers.attemptOf", { attempt: status.attempt, all: ATTEMPTS_PER_ROUND })
        : t("servers.attempt", { attempt: status.attempt });
    case "connected":
      return [
        t("servers.running"),
        countLabel(t, "tools", counts.tools),
        ...(counts.resources > 0 ? [countLabel(t, "resources", counts.resources)] : []),
        ...(counts.prompts > 0 ? [countLabel(t, "prompts", counts.prompts)] : []),
      ].join(" · ");
    case "needs_auth":
      return t(signIn?.is === "waiting" ? "servers.signIn.waiting" : "servers.needsAuth");
    case "needs_client_registration":
      return t("servers.needsClient");
    case "failed":
      return t("servers.failedBecause", {
        why:
          t.language === "en" || typeof status.message !== "string"
            ? textLine(t, status.message)
            : t("servers.failedAs", { kind: t(`servers.kindOfFailure.${status.error}`), why: status.message }),
      });
  }
}

/** What a start would run or connect to; nothing for what is built in. */
export function targetOf(transport: Transport): string {
  switch (transport.type) {
    case "stdio":
      return joinCommand([transport.command, ...transport.args]);
    case "auto":
    case "http":
    case "sse":
    case "ws":
      return transport.url;
    case "builtin":
      return "";
  }
}
