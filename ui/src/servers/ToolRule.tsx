import { SegmentedControl } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import { useReading } from "../core/useReading";
import type { Effect, GrantChoice, ToolView } from "../gen/types";
import { useMessages } from "../messages";
import type { Ruling } from "./rules";

/** Ask, allow or block one tool, for every client and until it is changed. */
export function ToolRule({ tool: { server, name }, ruling }: { tool: ToolView; ruling: Ruling }) {
  const t = useMessages();
  const grant = useAction("policy.grant");
  const deny = useAction("policy.deny");
  const revoke = useAction("policy.revoke");
  const unblock = useAction("policy.unblock");
  const { readAgain } = useReading("policy.show", {});
  const [busy, setBusy] = useState(false);
  const choice: GrantChoice = { lifetime: "always", width: "tool", everyClient: true, conditions: [] };
  const order = { server, tool: name, client: null, choice };

  const takeBack = async (...effects: Effect[]) => {
    for (const { effect, id } of ruling.own.filter((rule) => effects.includes(rule.effect))) {
      if (!(await (effect === "allow" ? revoke : unblock).run({ rule: id }))) return;
    }
  };
  // What narrows comes first: nothing is open in between.
  const change = async (wanted: string) => {
    if (wanted === "ask") await takeBack("allow", "deny");
    if (wanted === "block" && (await deny.run({ ...order, reason: null }))) await takeBack("allow");
    if (wanted === "allow" && (ruling.wide !== undefined || (await grant.run(order)))) await takeBack("deny");
  };
  return (
    <SegmentedControl
      size="xs"
      className="tool-rule"
      aria-label={t("servers.tool.rule", { tool: name })}
      disabled={busy}
      data={[
        { value: "ask", label: t("servers.tool.ask"), disabled: ruling.wide !== undefined },
        { value: "allow", label: t("servers.tool.allow"), disabled: ruling.wide?.effect === "deny" },
        { value: "block", label: t("servers.tool.block") },
      ]}
      value={ruling.now}
      onChange={(wanted) => {
        setBusy(true);
        // A choice against what is not so any more would be lost.
        void change(wanted)
          .then(readAgain)
          .finally(() => {
            setBusy(false);
          });
      }}
    />
  );
}
