import "./servers.css";

import { ActionIcon, Button, Menu, Switch, Tabs } from "@mantine/core";
import { IconArrowLeft, IconDots, IconServerOff } from "@tabler/icons-react";

import { CallsView } from "../activity/CallsView";
import { useReading } from "../core/useCoreQuery";
import { format, go, serverTabs, type ServerTab } from "../app-shell/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { PromptsTab } from "../catalog/PromptsTab";
import { ResourcesTab } from "../catalog/ResourcesTab";
import { Empty } from "../components/EmptyState";
import { ProblemAlert } from "../components/ErrorAlert";
import { Waiting } from "../components/LoadingIndicator";
import { ErrorCount } from "./ErrorCount";
import { Failure } from "./ServerFailure";
import { Freedom } from "./ServerAutoApprove";
import { LogsTab } from "./LogsTab";
import { NextStep } from "./PrimaryAction";
import { SettingsTab } from "./SettingsTab";
import { SignedIn } from "./SignedIn";
import { SignIn } from "./SignInStatus";
import { StatusMark } from "./StatusMark";
import { ToolsTab } from "./ToolsTab";
import { useServerActs } from "./useServerActions";

/** One server: how it is, what may run on it unasked, its tools, its log, its settings. */
export function ServerPage({ id, tab, at }: { id: string; tab: ServerTab; at?: "sign-in" | undefined }) {
  const t = useMessages();
  const { data, problem, loading } = useReading("servers.list", {});
  const view = data?.find(({ config }) => config.id === id);
  if (view) return <Known view={view} tab={tab} at={at} taken={(data ?? []).map(({ config }) => config.name)} />;
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

type KnownProps = { view: ServerView; tab: ServerTab; at: "sign-in" | undefined; taken: readonly string[] };

function Known({ view, tab, at, taken }: KnownProps) {
  const t = useMessages();
  const acts = useServerActs(view, taken);
  const { config, status, signIn } = view;
  const remove = () => {
    acts.remove(() => {
      go({ page: "servers" });
    });
  };
  return (
    <div className="page">
      <header className="server-head">
        <div className="server-title">
          <ActionIcon
            component="a"
            href={format({ page: "servers" })}
            variant="subtle"
            color="gray"
            className="server-back"
            aria-label={t("servers.back")}
            title={t("servers.back")}
          >
            <IconArrowLeft size={18} aria-hidden />
          </ActionIcon>
          <h1>{config.name}</h1>
          <span className="server-status" role="status">
            <StatusMark view={view} />
            <ErrorCount view={view} />
          </span>
          <span className="server-acts">
            <NextStep view={view} acts={acts} own />
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
                {status.state === "connected" && <Menu.Item onClick={acts.stop}>{t("servers.stop")}</Menu.Item>}
                {signIn?.is === "in" && <Menu.Item onClick={acts.signIn.begin}>{t("servers.signIn.again")}</Menu.Item>}
                <Menu.Item onClick={acts.duplicate}>{t("servers.duplicate")}</Menu.Item>
                <Menu.Divider />
                <Menu.Item color="red" onClick={remove}>
                  {t("servers.remove")}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </span>
        </div>
        {config.look.description !== null && <p className="dim server-line">{config.look.description}</p>}
        {status.state === "failed" && <Failure view={view} status={status} />}
        <SignIn view={view} acts={acts.signIn} />
        <SignedIn view={view} acts={acts.signIn} />
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
        <Tabs.Panel value="resources">
          <ResourcesTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="prompts">
          <PromptsTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="logs">
          <LogsTab view={view} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <SettingsTab
            config={config}
            taken={taken.filter((name) => name !== config.name)}
            at={at}
            onRemove={remove}
          />
        </Tabs.Panel>
        <Tabs.Panel value="activity" className="tab-activity">
          <CallsView of={config.id} />
        </Tabs.Panel>
      </Tabs>
      {acts.dialog}
    </div>
  );
}
