// The rules of a server, and what is set to run on it without asking, out of what the core says of all.

import type { AutoApproveView, GrantId, PolicyView, RuleView } from "../generated/types";

/** The rules of one server. */
export function rulesOf(policy: PolicyView | undefined, server: string): RuleView[] {
  return (policy?.rules ?? []).filter(({ rule }) => rule.server?.server === server);
}

/** A rule by its id. */
export function ruleOf(policy: PolicyView | undefined, id: GrantId | null): RuleView | undefined {
  return policy?.rules.find(({ rule }) => rule.id === id);
}

/** What is set on a server for a client, or for every client. */
export function autoApproveOf(
  policy: PolicyView | undefined,
  server: string,
  client: string | null = null,
): AutoApproveView {
  const none: AutoApproveView = {
    server,
    client,
    setting: "ask",
    allowed: 0,
    waitsForFirstUse: false,
    late: { reads: 0, writes: 0, all: 0 },
  };
  return policy?.autoApprove.find((one) => one.server === server && one.client === client) ?? none;
}

/** Number of newer tools that a setting would cover but that still ask. */
export function newToolsCovered({ late }: AutoApproveView, setting: AutoApproveView["setting"]): number {
  return setting === "ask" ? 0 : late[setting];
}
