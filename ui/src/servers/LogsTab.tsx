import { IconFileText } from "@tabler/icons-react";
import clsx from "clsx";
import { useMemo, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { LogLevel, LogLine, LogSource, ServerView } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { FilterBar, FilterInput, FilterSelect } from "../components/FilterBar";
import { FollowingList } from "../components/FollowingList";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { VirtualList } from "../components/VirtualList";
import { firstFrom, groupRepeats, isAround, levels, filterLines, logText, sources, toneOfLevel } from "./logs";
import { ServerLogLevel } from "./ServerLogLevel";
import styles from "./LogsTab.module.css";
import serverPageStyles from "./ServerPage.module.css";

/** The log of a server, newest at the bottom. */
export function LogsTab({ view: { config, declared }, time }: { view: ServerView; time?: number | undefined }) {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("servers.log", { server: config.id });
  const [words, setWords] = useState("");
  const [source, setSource] = useState<LogSource | "">("");
  const [level, setLevel] = useState<LogLevel | "">("");
  const lines = useMemo(
    () => filterLines(data ?? [], { words, source: source || null, level: level || null }),
    [data, words, source, level],
  );
  if (error) return <ErrorAlert error={error} />;
  if (loading) return <LoadingIndicator />;
  const ofServer = declared.logging && <ServerLogLevel server={config.id} />;
  if (data?.length === 0) {
    return (
      <>
        <div className={styles.filters}>
          <FilterBar>{ofServer}</FilterBar>
        </div>
        <EmptyState icon={<IconFileText size={26} />} title={t("servers.log.none")} text={t("servers.log.noneText")} />
      </>
    );
  }
  return (
    <>
      <div className={styles.filters}>
        <FilterBar>
          <FilterInput label={t("servers.log.filter")} text={words} onChange={setWords} />
          <FilterSelect
            label={t("servers.log.source")}
            all={t("servers.log.anySource")}
            options={sources.map((one) => [one, t(`servers.log.source.${one}`)])}
            value={source}
            onChange={setSource}
          />
          <FilterSelect
            label={t("servers.log.level")}
            all={t("servers.log.anyLevel")}
            options={levels.map((one) => [one, t("servers.log.atLeast", { level: t(`servers.log.level.${one}`) })])}
            value={level}
            onChange={setLevel}
          />
          <CopyButton
            text={() => lines.map((line) => logText(config.name, line)).join("\n")}
            label={t("servers.log.copy")}
          />
          {ofServer}
        </FilterBar>
      </div>
      {lines.length === 0 ? <p className="dim">{t("servers.log.noMatch")}</p> : <Lines lines={lines} time={time} />}
    </>
  );
}

type LinesProps = {
  lines: readonly LogLine[];
  /** The moment that is wanted; the end where absent. */
  time: number | undefined;
};

/** Virtual list of log lines. */
function Lines({ lines, time: wanted }: LinesProps) {
  const t = useMessages();
  const { time, full } = useTimes();
  const groups = useMemo(() => groupRepeats(lines), [lines]);
  const list = {
    role: "log",
    label: t("servers.tab.logs"),
    className: clsx(serverPageStyles.scroll, styles.log, "mono", "selectable"),
    items: groups,
    rowHeight: 20,
    measured: true,
  } as const;
  const renderLine = ({ line, count, since }: (typeof groups)[number]) => (
    <div className={clsx(styles.line, wanted !== undefined && isAround(line, wanted) && styles.around)}>
      <span className="dim" title={full(line.at)}>
        {time(line.at)}
      </span>
      <span className="dim">{t(`servers.log.source.${line.source}`)}</span>
      {line.level === null ? (
        <span />
      ) : (
        <span className={clsx(styles.level, styles[toneOfLevel(line.level)])}>
          {t(`servers.log.level.${line.level}`)}
        </span>
      )}
      <span className={styles.text}>
        {line.text}
        {count > 1 && (
          <span className={styles.count} title={t("servers.log.since", { time: full(since) })}>
            {t("servers.log.times", { count })}
          </span>
        )}
      </span>
    </div>
  );
  if (wanted !== undefined) {
    return (
      <div className={styles.place}>
        <VirtualList {...list} active={firstFrom(groups, wanted)}>
          {renderLine}
        </VirtualList>
      </div>
    );
  }
  return (
    <div className={styles.place}>
      <FollowingList {...list} toEndLabel={t("servers.log.newest")}>
        {renderLine}
      </FollowingList>
    </div>
  );
}
