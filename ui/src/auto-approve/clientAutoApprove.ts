// What may run without asking for one client, over all servers, out of what the core says of each. Pure.

import type { AutoApprove, PolicyView, ServerView } from "../generated/types";
import { autoApproveOf, newToolsCovered } from "./serverRules";

/** From the narrowest to the widest. */
export const autoApproveLevels: readonly AutoApprove[] = ["ask", "reads", "writes", "all"];

export type ClientAutoApproveState = {
  /** What is set for the client. */
  value: AutoApprove | "mixed";
  /** The same by preset, with the names of the servers. */
  parts: readonly { preset: AutoApprove; servers: readonly string[] }[];
  /** Servers on which rules for every client let more run than is set here. */
  also: readonly string[];
  /** Servers on which what is set waits for its first use. */
  waiting: readonly string[];
  /** What to set for tools that came later, and how many they are. */
  late: { to: AutoApprove; count: number };
};

const none: ClientAutoApproveState = { value: "ask", parts: [], also: [], waiting: [], late: { to: "ask", count: 0 } };

/** The auto-approve state of a client over all present servers. */
export function clientAutoApprove(
  policy: PolicyView | undefined,
  servers: readonly ServerView[],
  client: string,
): ClientAutoApproveState {
  const each = servers.map(({ config: { id, name } }) => ({
    name,
    own: autoApproveOf(policy, id, client),
    every: autoApproveOf(policy, id).setting,
  }));
  if (each.length === 0) return none;
  const parts = autoApproveLevels
    .map((preset) => ({ preset, servers: each.filter(({ own }) => own.setting === preset).map(({ name }) => name) }))
    .filter((part) => part.servers.length > 0);
  // A server that came later has none of it yet: beside those that ask, one thing alone is set.
  const set = parts.map(({ preset }) => preset).filter((preset) => preset !== "ask");
  const to = set.length === 1 ? (set[0] ?? "ask") : "ask";
  return {
    value: parts.length === 1 ? (parts[0]?.preset ?? "ask") : "mixed",
    parts,
    also: each.filter(({ own, every }) => allowsMore(every, own.setting)).map(({ name }) => name),
    waiting: each.filter(({ own }) => own.waitsForFirstUse).map(({ name }) => name),
    late: { to, count: each.reduce((sum, { own }) => sum + newToolsCovered(own, to), 0) },
  };
}

/** Whether the one lets something run that the other does not. */
function allowsMore(one: AutoApprove, other: AutoApprove): boolean {
  return one !== "ask" && other !== "all" && one !== other;
}
