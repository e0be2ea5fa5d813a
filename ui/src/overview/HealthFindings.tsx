import { Button } from "@mantine/core";
import { IconCircleCheck, IconPlugOff, IconShieldX } from "@tabler/icons-react";

import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import { useRemove } from "../core/useRemove";
import type { RuleFinding, UnusedServer } from "../generated/types";
import { useMessages, useTimes, type Translate } from "../messages";
import { formatRoute } from "../navigation/route";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useNow } from "../components/useNow";
import styles from "./OverviewPage.module.css";

/** How long calls must have been counted before anything is said, in milliseconds. */
const NEEDED_MS = 30 * 86_400_000;

/** Rules and servers that nobody needs any more, and rules that are wider than they were ever needed. */
export function HealthFindings() {
  const t = useMessages();
  const { day } = useTimes();
  const now = useNow(60_000);
  const { data, error, loading } = useCoreQuery("policy.findings", {});
  const isEmpty = data?.rules.length === 0 && data.servers.length === 0;
  return (
    <section className={styles.section} aria-labelledby="overview-health">
      <header className={styles.head}>
        <h2 id="overview-health">{t("overview.health")}</h2>
      </header>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data && isEmpty && (
        <p className="dim">
          {data.recordedSince + NEEDED_MS > now ? (
            t("overview.healthLater", { day: day(data.recordedSince + NEEDED_MS) })
          ) : (
            <>
              <IconCircleCheck size={15} aria-hidden /> {t("overview.healthGood")}
            </>
          )}
        </p>
      )}
      {data && !isEmpty && (
        <ul className={styles.findings}>
          {data.rules.map((found) => (
            <RuleRow key={found.rule} found={found} />
          ))}
          {data.servers.map((server) => (
            <ServerRow key={server.server} server={server} />
          ))}
        </ul>
      )}
    </section>
  );
}

function RuleRow({ found: { rule, sentence, finding } }: { found: RuleFinding }) {
  const t = useMessages();
  const { day } = useTimes();
  const revoke = useRemove("policy.revoke");
  const narrow = useRemove("policy.narrow");
  const words = t.render(sentence);
  return (
    <li className={styles.finding}>
      <IconShieldX size={17} aria-hidden />
      <div>
        <span>{words}</span>
        <span className="dim">{why(t, finding, day)}</span>
      </div>
      {finding.finding === "unused" ? (
        <Button
          size="xs"
          variant="default"
          loading={revoke.busy}
          aria-label={t("perm.takeBackRule", { rule: words })}
          onClick={() => void revoke.run({ rule }, t("appShell.revoked", { rule: words }))}
        >
          {t("perm.takeBack")}
        </Button>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={narrow.busy}
          aria-label={t("overview.narrowRule", { rule: words })}
          onClick={() => void narrow.run({ rule }, t("overview.narrowed", { rule: words }))}
        >
          {t("overview.narrow")}
        </Button>
      )}
    </li>
  );
}

function why(t: Translate, finding: RuleFinding["finding"], day: (at: number) => string): string {
  if (finding.finding === "unused") {
    return finding.lastUsed === null
      ? t("overview.neverUsed")
      : t("overview.unusedSince", { day: day(finding.lastUsed) });
  }
  return t("overview.tooWide", {
    used: finding.used,
    count: finding.unused.length,
    unused: finding.unused,
  });
}

function ServerRow({ server: { server, name, lastCall } }: { server: UnusedServer }) {
  const t = useMessages();
  const { day } = useTimes();
  const stop = useAction("servers.stop");
  return (
    <li className={styles.finding}>
      <IconPlugOff size={17} aria-hidden />
      <div>
        <a href={formatRoute({ page: "server", id: server, tab: "tools" })}>{name}</a>
        <span className="dim">
          {lastCall === null ? t("overview.serverNeverUsed") : t("overview.serverUnused", { day: day(lastCall) })}
        </span>
      </div>
      <Button
        size="xs"
        variant="default"
        loading={stop.busy}
        aria-label={t("overview.turnOffServer", { name })}
        onClick={() => void stop.run({ server, disable: true })}
      >
        {t("overview.turnOff")}
      </Button>
    </li>
  );
}
