import { Pill, Switch } from "@mantine/core";

import clsx from "clsx";
import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import { useRemove } from "../core/useRemove";
import type { AutoApprove, ServerView } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { AllowNewTools, AutoApproveControl } from "../auto-approve/AutoApproveControl";
import { useAutoApprove } from "../auto-approve/useAutoApprove";
import { autoApproveOf, newToolsCovered, rulesOf } from "../auto-approve/serverRules";
import styles from "./ServerAutoApprove.module.css";

/** The auto-approve setting of a server, and its rules as chips (PERM-3). */
export function ServerAutoApprove({ view: { config, trustedLabels } }: { view: ServerView }) {
  const t = useMessages();
  const policy = useCoreQuery("policy.show", {}).data;
  const set = useAutoApprove();
  const trust = useAction("servers.trustLabels");
  const free = autoApproveOf(policy, config.id).setting;
  return (
    <div className={styles.autoApprove}>
      <span id="freedom">{t("servers.free")}</span>
      <AutoApproveControl
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
        onChange={(event) =>
          void trust.run({ server: config.id, trusted: event.currentTarget.checked, generation: null })
        }
      />
      <AutoApproveReach
        server={config.id}
        free={free}
        trusted={trustedLabels}
        onRenew={() => void set.run({ server: config.id, client: null, to: free })}
      />
      <RuleChips server={config.id} />
    </div>
  );
}

type ReachProps = { server: string; free: AutoApprove; trusted: boolean; onRenew: () => void };

/** How many of the server's tools the setting covers. */
function AutoApproveReach({ server, free, trusted, onRenew }: ReachProps) {
  const t = useMessages();
  const tools = useCoreQuery("tools.list", { server }).data ?? [];
  const set = autoApproveOf(useCoreQuery("policy.show", {}).data, server);
  if (tools.length === 0) return null;
  const noReads = free === "reads" && !trusted && !tools.some((tool) => tool.class.class === "read");
  return (
    <p className={clsx("dim", styles.reach)}>
      <span>{t("servers.free.count", { count: set.allowed, all: tools.length })}</span>{" "}
      {noReads && <span>{t("servers.free.noReads")}</span>}
      <AllowNewTools count={newToolsCovered(set, free)} onRenew={onRenew} />
    </p>
  );
}

/** The rules as chips; removing one revokes it. */
function RuleChips({ server }: { server: string }) {
  const t = useMessages();
  const render = useRender();
  const revoke = useRemove("policy.revoke");
  const unblock = useRemove("policy.unblock");
  const rules = rulesOf(useCoreQuery("policy.show", {}).data, server);
  if (rules.length === 0) return null;
  return (
    <ul className={styles.chips} aria-label={t("servers.rules")}>
      {rules.map((view) => {
        const { rule } = view;
        const sentence = render(view.sentence);
        return (
          <li key={rule.id}>
            <Pill
              size="md"
              withRemoveButton
              className={rule.effect === "deny" ? clsx(styles.chip, styles.deny) : styles.chip}
              title={sentence}
              removeButtonProps={{
                "aria-label": t("servers.revoke", { rule: sentence }),
                tabIndex: 0,
                "aria-hidden": false,
              }}
              onRemove={() => {
                const denies = rule.effect === "deny";
                const removed = t(denies ? "appShell.unblocked" : "appShell.revoked", { rule: sentence });
                void (denies ? unblock : revoke).run({ rule: rule.id }, removed);
              }}
            >
              {sentence}
            </Pill>
          </li>
        );
      })}
    </ul>
  );
}
