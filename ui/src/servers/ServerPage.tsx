import { ActionIcon, Button, Switch, Tabs } from "@mantine/core";
import { IconArrowLeft, IconServerOff } from "@tabler/icons-react";

import clsx from "clsx";
import { CallsView } from "../activity/CallsView";
import { useCoreQuery } from "../core/useCoreQuery";
import { formatRoute, navigate, serverTabs, type ServerTab, type SettingsPart } from "../navigation/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { PromptsTab } from "../catalog/PromptsTab";
import { ResourcesTab } from "../catalog/ResourcesTab";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { RegistryNotice } from "../registry/RegistryNotice";
import { ErrorCount } from "./ErrorCount";
import { ServerFailure } from "./ServerFailure";
import { ServerAutoApprove } from "./ServerAutoApprove";
import { LastKnown } from "./LastKnown";
import { LogsTab } from "./LogsTab";
import { PrimaryAction } from "./PrimaryAction";
import { SettingsTab } from "./SettingsTab";
import { SignedIn } from "./SignedIn";
import { ServerMenu } from "./ServerMenu";
import { SignInStatus } from "./SignInStatus";
import { StatusMark } from "./StatusMark";
import { ToolsTab } from "./ToolsTab";
import { useServerActions } from "./useServerActions";
import pageStyles from "../components/Page.module.css";
import serverCardStyles from "./ServerCard.module.css";
import styles from "./ServerPage.module.css";

/** What of a server is shown. */
type Place = {
  tab: ServerTab;
  /** The part of the settings. */
  at?: SettingsPart | undefined;
  /** The moment of the log. */
  time?: number | undefined;
};

/** One server: how it is, what may run on it unasked, its tools, its log, its settings. */
export function ServerPage({ id, tab, at, time }: Place & { id: string }) {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("servers.list", {});
  const view = data?.find(({ config }) => config.id === id);
  if (view) {
    return (
      <LoadedServer view={view} tab={tab} at={at} time={time} taken={(data ?? []).map(({ config }) => config.name)} />
    );
  }
  return (
    <div className={clsx(pageStyles.page, pageStyles.body)}>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data && (
        <EmptyState icon={<IconServerOff size={26} />} title={t("servers.gone")} text={t("servers.goneText")}>
          <Button component="a" href={formatRoute({ page: "servers" })}>
            {t("servers.back")}
          </Button>
        </EmptyState>
      )}
    </div>
  );
}

type KnownProps = Place & { view: ServerView; taken: readonly string[] };

function LoadedServer({ view, tab, at, time, taken }: KnownProps) {
  const t = useMessages();
  const acts = useServerActions(view, taken);
  const { config, status } = view;
  const remove = () => {
    acts.remove(() => {
      navigate({ page: "servers" });
    });
  };
  return (
    <div className={pageStyles.page}>
      <header className={styles.head}>
        <div className={styles.title}>
          <ActionIcon
            component="a"
            href={formatRoute({ page: "servers" })}
            variant="subtle"
            color="gray"
            className={styles.back}
            aria-label={t("servers.back")}
            title={t("servers.back")}
          >
            <IconArrowLeft size={18} aria-hidden />
          </ActionIcon>
          <h1>{config.name}</h1>
          <span className={styles.status} role="status">
            <StatusMark view={view} />
            <ErrorCount view={view} />
          </span>
          <span className={clsx(serverCardStyles.actions, styles.actions)}>
            <PrimaryAction view={view} acts={acts} own />
            <Switch
              aria-label={t("servers.on", { name: config.name })}
              checked={config.enabled}
              onChange={(event) => {
                acts.toggle(event.currentTarget.checked);
              }}
            />
            <ServerMenu view={view} acts={acts} onRemove={remove} />
          </span>
        </div>
        {config.look.description !== null && (
          <p className={clsx("dim", serverCardStyles.line)}>{config.look.description}</p>
        )}
        <RegistryNotice config={config} />
        {status.state === "failed" && <ServerFailure view={view} status={status} />}
        <SignInStatus view={view} acts={acts.signIn} />
        <SignedIn view={view} acts={acts.signIn} />
        <ServerAutoApprove view={view} />
      </header>
      <Tabs
        value={tab}
        keepMounted={false}
        className={styles.tabs}
        onChange={(value) => {
          const wanted = serverTabs.find((one) => one === value);
          if (wanted) navigate({ page: "server", id: config.id, tab: wanted });
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
          <LastKnown view={view} what="tools" />
          <ToolsTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="resources">
          <LastKnown view={view} what="resources" />
          <ResourcesTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="prompts">
          <LastKnown view={view} what="prompts" />
          <PromptsTab server={config.id} />
        </Tabs.Panel>
        <Tabs.Panel value="logs">
          <LogsTab key={time} view={view} time={time} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <SettingsTab config={config} at={at} onRemove={remove} />
        </Tabs.Panel>
        <Tabs.Panel value="activity" className={styles.activity}>
          <CallsView of={config.id} />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}
