import { Pill, Switch } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useReading } from "../core/useCoreQuery";
import type { AutoApprove, ServerView } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { Late, Preset } from "../components/AutoApproveControl";
import { useAutoApprove } from "../components/useAutoApprove";
import { autoApproveOf, lateOf, rulesOf } from "./serverRules";

/** What may run without asking, and every rule of this server in words (PERM-3). */
export function Freedom({ view: { config, trustedLabels } }: { view: ServerView }) {
  const t = useMessages();
  const policy = useReading("policy.show", {}).data;
  const set = useAutoApprove();
  const trust = useAction("servers.trustLabels");
  const free = autoApproveOf(policy, config.id).setting;
  return (
    <div className="freedom">
      <span id="freedom">{t("servers.free")}</span>
      <Preset
        labelledBy="freedom"
        value={free}
        disabled={set.busy || policy === undefined}
        onChange={(to) => void set.run({ server: config.id, client: null, to })}
      />
      <Switch
        size="sm"
        label={t("servers.trust")}
        checked={trustedLabels}
        disabled={trust.busy}
        onChange={(event) => void trust.run({ server: config.id, trusted: event.currentTarget.checked })}
      />
      <Reach
        server={config.id}
        free={free}
        trusted={trustedLabels}
        onRenew={() => void set.run({ server: config.id, client: null, to: free })}
      />
      <Chips server={config.id} />
    </div>
  );
}

type ReachProps = { server: string; free: AutoApprove; trusted: boolean; onRenew: () => void };

/** What the setting comes to for the tools that are there. */
function Reach({ server, free, trusted, onRenew }: ReachProps) {
  const t = useMessages();
  const tools = useReading("tools.list", { server }).data ?? [];
  const set = autoApproveOf(useReading("policy.show", {}).data, server);
  if (tools.length === 0) return null;
  const noReads = free === "reads" && !trusted && !tools.some((tool) => tool.class.class === "read");
  return (
    <p className="dim freedom-reach">
      <span>{t("servers.free.count", { count: set.allowed, all: tools.length })}</span>{" "}
      {noReads && <span>{t("servers.free.noReads")}</span>}
      <Late count={lateOf(set, free)} onRenew={onRenew} />
    </p>
  );
}

/** The rules, each to be taken back. */
function Chips({ server }: { server: string }) {
  const t = useMessages();
  const render = useRender();
  const revoke = useAction("policy.revoke");
  const unblock = useAction("policy.unblock");
  const rules = rulesOf(useReading("policy.show", {}).data, server);
  if (rules.length === 0) return null;
  return (
    <ul className="chips" aria-label={t("servers.rules")}>
      {rules.map((view) => {
        const { rule } = view;
        const sentence = render(view.sentence);
        return (
          <li key={rule.id}>
            <Pill
              size="md"
              withRemoveButton
              className={rule.effect === "deny" ? "chip chip-deny" : "chip"}
              title={sentence}
              removeButtonProps={{ "aria-label": t("servers.revoke", { rule: sentence }), tabIndex: 0, "aria-hidden": false }}
              onRemove={() => void (rule.effect === "deny" ? unblock : revoke).run({ rule: rule.id })}
            >
              {sentence}
            </Pill>
          </li>
        );
      })}
    </ul>
  );
}
