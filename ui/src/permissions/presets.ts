// What may run without asking for one client, over all servers. The core decides; this only shows it. Pure.

import type { AutoApprove, Grant, ServerView, ToolView } from "../gen/types";
import { freeOf, reach } from "../servers/rules";

/** From the narrowest to the widest. */
export const presets: readonly AutoApprove[] = ["ask", "reads", "writes", "all"];

export type ClientPreset = {
  /** What is set for the client. */
  value: AutoApprove | "mixed";
  /** The same by preset, with the names of the servers. */
  parts: readonly { preset: AutoApprove; servers: readonly string[] }[];
  /** Servers on which rules for every client let more run than is set here. */
  also: readonly string[];
  /** What to set for tools that came later, and how many they are. */
  late: { to: AutoApprove; count: number };
};

const none: ClientPreset = { value: "ask", parts: [], also: [], late: { to: "ask", count: 0 } };

/** Where a client's default stands, over every server that there is now. */
export function presetOf(rules: readonly Grant[], servers: readonly ServerView[], tools: readonly ToolView[], client: string): ClientPreset {
  const each = servers.map(({ config }) => {
    const own = rules.filter(({ server }) => server?.server === config.id);
    return { name: config.name, own: freeOf(own, config, client), every: freeOf(own, config) };
  });
  if (each.length === 0) return none;
  const parts = presets
    .map((preset) => ({ preset, servers: each.filter(({ own }) => own === preset).map(({ name }) => name) }))
    .filter((part) => part.servers.length > 0);
  // A server that came later has none of it yet: beside those that ask, one thing alone is set.
  const set = parts.map(({ preset }) => preset).filter((preset) => preset !== "ask");
  const to = set.length === 1 ? (set[0] ?? "ask") : "ask";
  return {
    value: parts.length === 1 ? (parts[0]?.preset ?? "ask") : "mixed",
    parts,
    also: each.filter(({ own, every }) => isMore(every, own)).map(({ name }) => name),
    late: { to, count: to === "ask" ? 0 : lateOf(rules, tools, to, client) },
  };
}

function lateOf(rules: readonly Grant[], tools: readonly ToolView[], to: AutoApprove, client: string): number {
  return [...new Set(tools.map(({ server }) => server))].reduce((sum, server) => {
    const own = rules.filter((rule) => rule.server?.server === server);
    return sum + reach(own, tools.filter((tool) => tool.server === server), to, client).late;
  }, 0);
}

/** Whether the one lets something run that the other does not. */
function isMore(one: AutoApprove, other: AutoApprove): boolean {
  return one !== "ask" && other !== "all" && one !== other;
}
