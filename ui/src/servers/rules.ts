// Which tools of a server run without asking, and by which rule. The core decides; this only shows it.

import type { AutoApprove, Grant, PolicyView, ServerConfig, ToolView } from "../gen/types";

/** The rules of one server. */
export function rulesOf(policy: PolicyView | undefined, server: string): Grant[] {
  return (policy?.rules ?? []).map(({ rule }) => rule).filter((rule) => rule.server?.server === server);
}

/** Until it is taken back, and whatever the arguments are. */
const isPlain = ({ lifetime, conditions }: Grant) => lifetime.lifetime === "always" && conditions.length === 0;

/** Whether a rule is for this client, or for every client where none is given; no wider and no narrower. */
const isOf = ({ clients }: Grant, client: string | null) =>
  clients.clients === "every" ? client === null : clients.client === client;

/** What runs on a server without asking, as it is set for a client, or for every client. */
export function freeOf(rules: readonly Grant[], { generation }: Pick<ServerConfig, "generation">, client: string | null = null): AutoApprove {
  const wide = rules
    .filter((rule) => rule.effect === "allow" && isPlain(rule) && isOf(rule, client) && rule.server?.generation === generation)
    .map(({ width }) => width.width);
  const reads = wide.includes("reads");
  const writes = wide.includes("writes");
  if (wide.includes("everything") || (reads && writes)) return "all";
  if (reads) return "reads";
  return writes ? "writes" : "ask";
}

/** Whether a setting is for a tool as it now is. */
function isFor(free: AutoApprove, { class: { class: access, reachesOutside } }: ToolView): boolean {
  switch (free) {
    case "ask":
      return false;
    case "reads":
      return access === "read" && !reachesOutside;
    case "writes":
      return access === "write";
    case "all":
      return true;
  }
}

export function covers({ effect, width }: Pick<Grant, "effect" | "width">, tool: ToolView): boolean {
  switch (width.width) {
    case "call":
      return false;
    case "tool":
      return width.tool === tool.name;
    case "reads":
      return tool.class.class === "read" && (effect === "deny" || !tool.class.reachesOutside);
    case "writes":
      return tool.class.class === "write";
    case "everything":
      return true;
  }
}

/** What happens with a tool, whoever calls it, or when this client does. */
export type Ruling = {
  now: "ask" | "allow" | "block";
  /** Its own rules, which its control sets. */
  own: Grant[];
  /** The wider rule, set above, that holds for it as well. */
  wide: Grant | undefined;
  /** It was allowed, and its definition is another one since: it asks (PERM-8). */
  changed: boolean;
};

export function ruling(rules: readonly Grant[], tool: ToolView, client: string | null = null): Ruling {
  const about = rules.filter((rule) => isPlain(rule) && (isOf(rule, null) || isOf(rule, client)) && covers(rule, tool));
  const denies = about.filter(({ effect }) => effect === "deny");
  const given = about.filter(({ effect, server }) => effect === "allow" && server?.generation === tool.generation);
  const allows = given.filter(({ pins }) => pins[tool.name] === tool.fingerprint);
  const isOwn = ({ width }: Grant) => width.width === "tool";
  const isWide = (rule: Grant) => !isOwn(rule);
  return {
    now: denies.length > 0 ? "block" : allows.length > 0 ? "allow" : "ask",
    own: [...denies, ...given].filter(isOwn),
    wide: denies.find(isWide) ?? allows.find(isWide),
    changed: allows.length === 0 && given.some(({ pins }) => pins[tool.name] !== undefined),
  };
}

/** How many tools run without asking, and how many of those meant by the setting still ask. */
export function reach(
  rules: readonly Grant[],
  tools: readonly ToolView[],
  free: AutoApprove,
  client: string | null = null,
): { free: number; late: number } {
  const now = tools.map((tool) => ({ tool, now: ruling(rules, tool, client).now }));
  return {
    free: now.filter((one) => one.now === "allow").length,
    late: now.filter((one) => one.now === "ask" && isFor(free, one.tool)).length,
  };
}
