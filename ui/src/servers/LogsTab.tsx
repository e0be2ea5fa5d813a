import { Button, TextInput } from "@mantine/core";
import { IconArrowDown, IconFileText, IconSearch } from "@tabler/icons-react";
import { useState } from "react";

import { useReading } from "../core/useReading";
import { useMessages, useTimes } from "../messages";
import { Copy } from "../parts/Copy";
import { Empty } from "../parts/Empty";
import { ProblemAlert } from "../parts/ProblemAlert";
import { useFollow } from "../parts/useFollow";
import { Waiting } from "../parts/Waiting";

/** What the server said, newest at the bottom. */
export function LogsTab({ server }: { server: string }) {
  const t = useMessages();
  const { time } = useTimes();
  const { data, problem, loading } = useReading("servers.log", { server });
  const [filter, setFilter] = useState("");
  const lines = (data ?? []).filter(({ text }) => text.toLowerCase().includes(filter.trim().toLowerCase()));
  const { area, following, toEnd, onScroll } = useFollow(lines.length + (lines.at(-1)?.at ?? 0));
  if (problem) return <ProblemAlert problem={problem} />;
  if (loading) return <Waiting />;
  if (data?.length === 0) {
    return <Empty icon={<IconFileText size={26} />} title={t("servers.log.none")} text={t("servers.log.noneText")} />;
  }
  return (
    <>
      <div className="tab-filter log-tools">
        <TextInput
          size="sm"
          aria-label={t("servers.log.filter")}
          placeholder={t("servers.log.filter")}
          leftSection={<IconSearch size={15} aria-hidden />}
          value={filter}
          onChange={(event) => {
            setFilter(event.currentTarget.value);
          }}
        />
        <Copy text={lines.map(({ text }) => text).join("\n")} label={t("servers.log.copy")} />
        {!following && (
          <Button size="xs" variant="default" leftSection={<IconArrowDown size={14} aria-hidden />} onClick={toEnd}>
            {t("servers.log.newest")}
          </Button>
        )}
      </div>
      <div
        className="tab-scroll log mono selectable"
        ref={area}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label={t("servers.tab.logs")}
      >
        {lines.map(({ at, text }, place) => (
          <div key={`${String(at)} ${String(place)}`} className="log-line">
            <span className="dim">{time(at)}</span> {text}
          </div>
        ))}
      </div>
    </>
  );
}
