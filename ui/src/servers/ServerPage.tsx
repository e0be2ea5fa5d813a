import "./servers.css";

import { ActionIcon, Anchor, Button, Menu, Pill, SegmentedControl, Switch, Tabs } from "@mantine/core";
import { IconArrowLeft, IconDots, IconServerOff } from "@tabler/icons-react";

import { ruleSentence } from "../ask/rules";
import { useAction } from "../core/useAction";
import { useNames } from "../core/useNames";
import { useReading } from "../core/useReading";
import { format, go, serverTabs, type ServerTab } from "../frame/route";
import type { ServerView } from "../gen/types";
import { useMessages } from "../messages";
import { Empty } from "../parts/Empty";
import { ProblemAlert } from "../parts/ProblemAlert";
import { Waiting } from "../parts/Waiting";
import { Failure } from "./Failure";
import { LogsTab } from "./LogsTab";
import { SettingsTab } from "./SettingsTab";
import { freeOf, rulesOf } from "./status";
import { StatusMark } from "./StatusMark";
import { ToolsTab } from "./ToolsTab";
import { useServerActs } from "./useServerActs";

/** One server: how it is, what may run on it unasked, its tools, its log, its settings. */
export function ServerPage({ id, tab }: { id: string; tab: ServerTab }) {
  const t = useMessages();
  const { data, problem, loading } = useReading("servers.list", {});
  const view = data?.find(({ config }) => config.id === id);
  if (view) return <Known view={view} tab={tab} taken={(data ?? []).map(({ config }) => config.name)} />;
  return (
    <div className="page page-body">
      {problem && <ProblemAlert problem={problem} />}
      {loading && <Waiting />}
      {data && (
        <Empty icon={<IconServerOff size={26} />} title={t("servers.gone")} text={t("servers.goneText")}>
          <Button component="a" href={format({ page: "servers" })}>
            {t("servers.back")}
          </Button>
        </Empty>
      )}
    </div>
  );
}

function Known({ view, tab, taken }: { view: ServerView; tab: ServerTab; taken: readonly string[] }) {
  const t = useMessages();
  const acts = useServerActs(view, taken);
  const { config, status } = view;
  return (
    <div className="page">
      <header className="server-head">
        <Anchor href={format({ page: "servers" })} size="sm" className="server-back">
          <IconArrowLeft size={14} aria-hidden /> {t("servers.back")}
        </Anchor>
        <div className="server-title">
          <h1>{config.name}</h1>
          <StatusMark view={view} />
          <span className="server-acts">
            <Switch
              aria-label={t("servers.on", { name: config.name })}
              checked={config.enabled}
              onChange={(event) => {
                acts.toggle(event.currentTarget.checked);
              }}
            />
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="subtle" color="gray" aria-label={t("servers.more", { name: config.name })}>
                  <IconDots size={18} aria-hidden />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {config.enabled && <Menu.Item onClick={acts.reconnect}>{t("servers.reconnect")}</Menu.Item>}
                <Menu.Item onClick={acts.duplicate}>{t("servers.duplicate")}</Menu.Item>
                <Menu.Divider />
                <Menu.Item
                  color="red"
                  onClick={() => {
                    acts.remove(() => {
                      go({ page: "servers" });
                    });
                  }}
                >
                  {t("servers.remove")}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </span>
        </div>
        {config.look.description !== null && <p className="dim server-line">{config.look.description}</p>}
        {status.state === "failed" && <Failure view={view} status={status} />}
        <Freedom view={view} />
      </header>
      <Tabs
        value={tab}
        keepMounted={false}
        className="server-tabs"
        onChange={(value) => {
          const wanted = serverTabs.find((one) => one === value);
          if (wanted) go({ page: "server", id: config.id, tab: wanted });
        }}
      >
        <Tabs.List>
          {serverTabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`servers.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="tools">
          <ToolsTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="logs">
          <LogsTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <SettingsTab config={config} taken={taken.filter((name) => name !== config.name)} />
        </Tabs.Panel>
      </Tabs>
      {acts.dialog}
    </div>
  );
}

/** What may run without asking, and every rule of this server in words (PERM-3). */
function Freedom({ view: { config, trustedLabels } }: { view: ServerView }) {
  const t = useMessages();
  const policy = useReading("policy.show", {}).data;
  const set = useAction("policy.autoApprove");
  const trust = useAction("servers.trustLabels");
  const revoke = useAction("policy.revoke");
  const unblock = useAction("policy.unblock");
  const rules = rulesOf(policy, config.id);
  const names = useNames();
  return (
    <div className="freedom">
      <div className="freedom-row">
        <span id="freedom">{t("servers.free")}</span>
        <SegmentedControl
          aria-labelledby="freedom"
          size="xs"
          disabled={set.busy || policy === undefined}
          data={(["ask", "reads", "writes", "all"] as const).map((value) => ({
            value,
            label: t(`servers.free.${value}`),
          }))}
          value={freeOf(policy, config.id)}
          onChange={(to) => void set.run({ server: config.id, to })}
        />
        <Switch
          size="sm"
          label={t("servers.trust")}
          title={t("servers.trustHint")}
          checked={trustedLabels}
          onChange={(event) => void trust.run({ server: config.id, trusted: event.currentTarget.checked })}
        />
      </div>
      {rules.length > 0 && (
        <Pill.Group aria-label={t("servers.rules")} gap={6}>
          {rules.map(({ rule }) => (
            <Pill
              key={rule.id}
              withRemoveButton
              className={rule.effect === "deny" ? "chip chip-deny" : "chip"}
              removeButtonProps={{ "aria-label": t("servers.revoke", { rule: ruleSentence(t, rule, names) }), tabIndex: 0, "aria-hidden": false }}
              onRemove={() => void (rule.effect === "deny" ? unblock : revoke).run({ rule: rule.id })}
            >
              {ruleSentence(t, rule, names)}
            </Pill>
          ))}
        </Pill.Group>
      )}
    </div>
  );
}
