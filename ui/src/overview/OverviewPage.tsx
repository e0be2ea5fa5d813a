import { Button } from "@mantine/core";
import { IconLogin2, IconServer2, IconShieldQuestion } from "@tabler/icons-react";
import type { ReactNode } from "react";

import { ToolListText } from "../clients/ToolListText";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ServerView } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { formatRoute } from "../navigation/route";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { Page } from "../components/Page";
import { useNow } from "../components/useNow";
import { statusTone, type Tone } from "../servers/status";
import { CallsChart } from "./CallsChart";
import { HealthFindings } from "./HealthFindings";
import styles from "./OverviewPage.module.css";

const tones: readonly Tone[] = ["ok", "wait", "bad", "off"];

/** What runs, what waits, what was called, and what nobody needs any more. */
export function OverviewPage() {
  const t = useMessages();
  const { data: servers, error, loading } = useCoreQuery("servers.list", {});
  return (
    <Page title={t("appShell.overview")}>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {servers?.length === 0 && (
        <EmptyState icon={<IconServer2 size={26} />} title={t("overview.noServers")} text={t("overview.noServersText")}>
          <Button component="a" href={formatRoute({ page: "servers" })}>
            {t("overview.toServers")}
          </Button>
        </EmptyState>
      )}
      {servers && servers.length > 0 && (
        <>
          <div className={styles.cards}>
            <RunningServers servers={servers} />
            <Waiting servers={servers} />
            <Clients />
          </div>
          <CallsChart />
          <HealthFindings />
        </>
      )}
    </Page>
  );
}

type CardProps = { title: string; children: ReactNode };

function Card({ title, children }: CardProps) {
  return (
    <section className={styles.card} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Servers by state. */
function RunningServers({ servers }: { servers: readonly ServerView[] }) {
  const t = useMessages();
  const counts = tones.map((tone) => ({
    tone,
    count: servers.filter(({ status }) => statusTone(status) === tone).length,
  }));
  const failed = servers.filter(({ status }) => status.state === "failed");
  return (
    <Card title={t("appShell.servers")}>
      <ul className={styles.list}>
        {counts
          .filter(({ count }) => count > 0)
          .map(({ tone, count }) => (
            <li key={tone} className={styles[tone]}>
              {t(`overview.servers.${tone}`, { count })}
            </li>
          ))}
        {failed.map(({ config }) => (
          <li key={config.id}>
            <a href={formatRoute({ page: "server", id: config.id, tab: "logs" })}>{config.name}</a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** What waits for the user: approval requests and sign-ins. */
function Waiting({ servers }: { servers: readonly ServerView[] }) {
  const t = useMessages();
  const waiting = useCoreQuery("status", {}).data?.waiting ?? 0;
  const signIns = servers.filter(
    ({ status }) => status.state === "needs_auth" || status.state === "needs_client_registration",
  );
  return (
    <Card title={t("overview.waiting")}>
      <ul className={styles.list}>
        {waiting > 0 && (
          <li>
            <IconShieldQuestion size={15} aria-hidden />{" "}
            <a href={formatRoute({ page: "approvals" })}>{t("overview.approvals", { count: waiting })}</a>
          </li>
        )}
        {signIns.map(({ config }) => (
          <li key={config.id}>
            <IconLogin2 size={15} aria-hidden />{" "}
            <a href={formatRoute({ page: "server", id: config.id, tab: "tools" })}>
              {t("overview.signIn", { name: config.name })}
            </a>
          </li>
        ))}
        {waiting === 0 && signIns.length === 0 && <li className="dim">{t("overview.nothingWaits")}</li>}
      </ul>
    </Card>
  );
}

/** When each client was last seen, and what its list of tools costs a model. */
function Clients() {
  const t = useMessages();
  const { ago } = useTimes();
  const now = useNow(10_000);
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  return (
    <Card title={t("appShell.clients")}>
      <ul className={styles.list}>
        {clients.map(({ id, name, lastSeen, toolList }) => (
          <li key={id}>
            <a href={formatRoute({ page: "clients" })}>{name}</a>{" "}
            <span className="dim">
              {lastSeen === null ? t("overview.notSeen") : t("overview.seen", { ago: ago(lastSeen, now) })}
            </span>
            {" · "}
            <ToolListText cost={toolList} />
          </li>
        ))}
        {clients.length === 0 && (
          <li>
            <a href={formatRoute({ page: "clients" })}>{t("overview.connectClient")}</a>
          </li>
        )}
      </ul>
    </Card>
  );
}
