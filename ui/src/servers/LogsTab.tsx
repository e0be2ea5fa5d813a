import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { IconArrowDown, IconFileText, IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { LogLevel, LogLine, LogSource, ServerView } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { useFollowEnd } from "../components/useFollowEnd";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { groupRepeats, levels, filterLines, sources, toneOfLevel } from "./logs";
import { ServerLogLevel } from "./ServerLogLevel";

/** The log of a server, newest at the bottom. */
export function LogsTab({ view: { config, declared } }: { view: ServerView }) {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("servers.log", { server: config.id });
  const [words, setWords] = useState("");
  const [source, setSource] = useState<LogSource | null>(null);
  const [level, setLevel] = useState<LogLevel | null>(null);
  const lines = useMemo(() => filterLines(data ?? [], { words, source, level }), [data, words, source, level]);
  if (error) return <ErrorAlert error={error} />;
  if (loading) return <LoadingIndicator />;
  const ofServer = declared.logging && <ServerLogLevel server={config.id} />;
  if (data?.length === 0) {
    return (
      <>
        <div className="log-tools">{ofServer}</div>
        <EmptyState icon={<IconFileText size={26} />} title={t("servers.log.none")} text={t("servers.log.noneText")} />
      </>
    );
  }
  return (
    <>
      <div className="log-tools">
        <TextInput
          size="sm"
          className="log-words"
          aria-label={t("servers.log.filter")}
          placeholder={t("servers.log.filter")}
          leftSection={<IconSearch size={15} aria-hidden />}
          value={words}
          onChange={(event) => {
            setWords(event.currentTarget.value);
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("servers.log.source")}
          data={[
            { value: "", label: t("servers.log.anySource") },
            ...sources.map((one) => ({ value: one, label: t(`servers.log.source.${one}`) })),
          ]}
          value={source ?? ""}
          onChange={(event) => {
            const { value } = event.currentTarget;
            setSource(sources.find((one) => one === value) ?? null);
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("servers.log.level")}
          data={[
            { value: "", label: t("servers.log.anyLevel") },
            ...levels.map((one) => ({
              value: one,
              label: t("servers.log.atLeast", { level: t(`servers.log.level.${one}`) }),
            })),
          ]}
          value={level ?? ""}
          onChange={(event) => {
            const { value } = event.currentTarget;
            setLevel(levels.find((one) => one === value) ?? null);
          }}
        />
        <CopyButton text={lines.map(asText).join("\n")} label={t("servers.log.copy")} />
        {ofServer}
      </div>
      {lines.length === 0 ? <p className="dim">{t("servers.log.noMatch")}</p> : <Lines lines={lines} />}
    </>
  );
}

const asText = ({ at, source, level, text }: LogLine) =>
  [new Date(at).toISOString(), source, level ?? "", text].join("\t");

/** Virtual list of log lines. */
function Lines({ lines }: { lines: readonly LogLine[] }) {
  const t = useMessages();
  const { time, full } = useTimes();
  const groups = useMemo(() => groupRepeats(lines), [lines]);
  const { area, following, toEnd, onScroll } = useFollowEnd(lines.length + (lines.at(-1)?.at ?? 0));
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: groups.length,
    getScrollElement: () => area.current,
    estimateSize: () => 20,
    overscan: 20,
  });
  return (
    <div className="log-place">
      <div
        className="tab-scroll log mono selectable"
        ref={area}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label={t("servers.tab.logs")}
      >
        <div style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map((row) => {
            const group = groups[row.index];
            if (!group) return null;
            const { line, count, since } = group;
            return (
              <div
                key={row.key}
                ref={rows.measureElement}
                data-index={row.index}
                className="log-line"
                style={{ transform: `translateY(${String(row.start)}px)` }}
              >
                <span className="dim" title={full(line.at)}>
                  {time(line.at)}
                </span>
                <span className="dim">{t(`servers.log.source.${line.source}`)}</span>
                {line.level === null ? (
                  <span />
                ) : (
                  <span className={`log-level log-level-${toneOfLevel(line.level)}`}>
                    {t(`servers.log.level.${line.level}`)}
                  </span>
                )}
                <span className="log-text">
                  {line.text}
                  {count > 1 && (
                    <span className="log-count" title={t("servers.log.since", { time: full(since) })}>
                      {t("servers.log.times", { count })}
                    </span>
                  )}
                </span>
              </div>
            );
          })}
        </div>
      </div>
      {!following && (
        <Button className="log-newest" size="xs" leftSection={<IconArrowDown size={14} aria-hidden />} onClick={toEnd}>
          {t("servers.log.newest")}
        </Button>
      )}
    </div>
  );
}
