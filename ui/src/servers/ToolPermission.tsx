import { SegmentedControl } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { RuleEffect, Grant, GrantChoice, ToolView } from "../generated/types";
import { useMessages } from "../messages";
import { ruleOf } from "../auto-approve/serverRules";
import styles from "./ToolPermission.module.css";

/** Ask, allow or block one tool, for every client. */
export function ToolPermission({
  tool: { server, name, permission },
  wider,
}: {
  tool: ToolView;
  wider: Grant | undefined;
}) {
  const t = useMessages();
  const grant = useAction("policy.grant");
  const deny = useAction("policy.deny");
  const revoke = useAction("policy.revoke");
  const unblock = useAction("policy.unblock");
  const { data: policy, refetch } = useCoreQuery("policy.show", {});
  const { refetch: refetchTools } = useCoreQuery("tools.list", { server });
  const [busy, setBusy] = useState(false);
  const choice: GrantChoice = { lifetime: "always", width: "tool", everyClient: true, conditions: [] };
  const order = { server, tool: name, client: null, choice };

  const takeBack = async (...effects: RuleEffect[]) => {
    const own = permission.ownRules.map((id) => ruleOf(policy, id)?.rule).filter((rule) => rule !== undefined);
    for (const { effect, id } of own.filter((rule) => effects.includes(rule.effect))) {
      if (!(await (effect === "allow" ? revoke : unblock).run({ rule: id }))) return;
    }
  };
  // What narrows comes first: nothing is open in between.
  const change = async (wanted: string) => {
    if (wanted === "ask") await takeBack("allow", "deny");
    if (wanted === "block" && (await deny.run({ ...order, reason: null }))) await takeBack("allow");
    if (wanted === "allow" && (wider !== undefined || (await grant.run(order)))) await takeBack("deny");
  };
  return (
    <SegmentedControl
      size="xs"
      className={styles.permission}
      aria-label={t("servers.tool.rule", { tool: name })}
      disabled={busy}
      data={[
        { value: "ask", label: t("servers.tool.ask"), disabled: wider !== undefined },
        { value: "allow", label: t("servers.tool.allow"), disabled: wider?.effect === "deny" },
        { value: "block", label: t("servers.tool.block") },
      ]}
      value={permission.decision === "deny" ? "block" : permission.decision}
      onChange={(wanted) => {
        setBusy(true);
        // A choice against what is not so any more would be lost.
        void change(wanted)
          .then(() => Promise.all([refetch(), refetchTools()]))
          .finally(() => {
            setBusy(false);
          });
      }}
    />
  );
}
