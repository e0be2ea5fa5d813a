import "./activity.css";

import { Button, Drawer, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { IconActivity, IconArrowDown, IconCheck, IconQuestionMark, IconSearch, IconX } from "@tabler/icons-react";
import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { CallRecord, Decision } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CallDetails } from "./CallDetails";
import { RunningCalls } from "./RunningCalls";
import { useCallHistory } from "./useCallHistory";
import { useRunningCalls } from "./useRunningCalls";
import { outcomeLabel, ruleLabel, subjectName, durationLabel } from "./labels";

const NEAR = 32;

/** Calls, newest at the bottom; of one server alone where it is given. */
export function CallsView({ of = null }: { of?: string | null }) {
  const t = useMessages();
  const [text, setText] = useState("");
  const [words] = useDebouncedValue(text.trim(), 200);
  const [server, setServer] = useState("");
  const [client, setClient] = useState("");
  const [decision, setDecision] = useState<Decision | "">("");
  const [opened, setOpened] = useState<CallRecord | null>(null);
  const servers = useCoreQuery("servers.list", {}).data ?? [];
  const clients = useCoreQuery("clients.list", {}).data ?? [];
  const wanted = { server: of ?? (server || null), client: client || null, text: words || null };
  const { records, loading, error, older } = useCallHistory(wanted);
  const all = useRunningCalls();
  const running = of === null ? all : all.filter((call) => call.server === of);
  const isFiltered = server !== "" || client !== "" || words !== "" || decision !== "";
  const shown = records.filter(({ verdict }) => decision === "" || verdict.decision === decision).toReversed();
  const any = { value: "", label: t("activity.any") };
  return (
    <>
      <div className="activity-filters">
        <TextInput
          size="sm"
          className="activity-search"
          aria-label={t("activity.filter")}
          placeholder={t("activity.filter")}
          leftSection={<IconSearch size={15} aria-hidden />}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
          }}
        />
        {of === null && (
          <NativeSelect
            size="sm"
            aria-label={t("activity.server")}
            data={[
              { ...any, label: `${t("activity.server")}: ${any.label}` },
              ...servers.map(({ config }) => ({ value: config.id, label: config.name })),
            ]}
            value={server}
            onChange={(event) => {
              setServer(event.currentTarget.value);
            }}
          />
        )}
        <NativeSelect
          size="sm"
          aria-label={t("activity.client")}
          data={[
            { ...any, label: `${t("activity.client")}: ${any.label}` },
            ...clients.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={client}
          onChange={(event) => {
            setClient(event.currentTarget.value);
          }}
        />
        <NativeSelect
          size="sm"
          aria-label={t("activity.verdict")}
          data={[
            { ...any, label: `${t("activity.verdict")}: ${any.label}` },
            ...(["allow", "deny", "ask"] as const).map((value) => ({ value, label: t(`activity.verdict.${value}`) })),
          ]}
          value={decision}
          onChange={(event) => {
            const { value } = event.currentTarget;
            setDecision(value === "allow" || value === "deny" || value === "ask" ? value : "");
          }}
        />
      </div>
      {error && <ErrorAlert error={error} />}
      {!isFiltered && <RunningCalls running={running} ofOne={of !== null} />}
      {loading && <LoadingIndicator />}
      {!loading &&
        shown.length === 0 &&
        running.length === 0 &&
        (isFiltered ? (
          <p className="activity-dim">{t("activity.noMatch")}</p>
        ) : (
          <EmptyState
            icon={<IconActivity size={26} />}
            title={t("activity.none")}
            text={t(of === null ? "activity.noneText" : "activity.noneOfServer")}
          />
        ))}
      {shown.length > 0 && <CallList ofOne={of !== null} records={shown} onOlder={older} onOpen={setOpened} />}
      <Drawer
        opened={opened !== null}
        onClose={() => {
          setOpened(null);
        }}
        position="right"
        size="lg"
        lockScroll={false}
        closeButtonProps={{ "aria-label": t("frame.close") }}
        title={opened ? subjectName(opened.subject) : ""}
      >
        {opened && <CallDetails record={opened} />}
      </Drawer>
    </>
  );
}

type ListProps = {
  /** Whether all are of one server, which stands above them then. */
  ofOne: boolean;
  records: readonly CallRecord[];
  onOlder: () => void;
  onOpen: (record: CallRecord) => void;
};

/** Virtual list; follows its end until the user scrolls up. */
function CallList({ ofOne, records, onOlder, onOpen }: ListProps) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const [following, setFollowing] = useState(true);
  const count = records.length;
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count,
    getScrollElement: () => area.current,
    estimateSize: () => 36,
    overscan: 12,
    getItemKey: (at) => records[at]?.id ?? at,
  });
  const toEnd = () => {
    follow.current = true;
    setFollowing(true);
    rows.scrollToIndex(count - 1, { align: "end" });
  };

  // What is read above keeps what is in sight in its place.
  const first = records[0]?.id;
  const before = useRef({ first, count });
  useLayoutEffect(() => {
    const grown = count - before.current.count;
    const above = before.current.first !== undefined && before.current.first !== first && grown > 0;
    before.current = { first, count };
    if (above && !follow.current && area.current) area.current.scrollTop += grown * 36;
  }, [first, count]);
  useEffect(() => {
    if (follow.current) rows.scrollToIndex(count - 1, { align: "end" });
  }, [rows, count]);

  const scrolled = () => {
    const element = area.current;
    if (!element) return;
    follow.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    setFollowing(follow.current);
    if (element.scrollTop < 400) onOlder();
  };
  return (
    <div className={ofOne ? "activity-list activity-of-one" : "activity-list"}>
      <div className="activity-row activity-names" aria-hidden>
        <span>{t("activity.time")}</span>
        <span>{t("activity.client")}</span>
        {!ofOne && <span>{t("activity.server")}</span>}
        <span>{t("activity.tool")}</span>
        <span>{t("activity.verdict")}</span>
        <span>{t("activity.result")}</span>
        <span className="activity-right">{t("activity.took")}</span>
      </div>
      <div
        className="activity-scroll"
        ref={area}
        onScroll={scrolled}
        role="list"
        aria-label={t("activity.calls")}
        tabIndex={0}
      >
        <div style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map((row) => {
            const record = records[row.index];
            return (
              <div
                key={row.key}
                role="listitem"
                className="activity-place"
                style={{ transform: `translateY(${String(row.start)}px)` }}
              >
                {record && <CallRow record={record} ofOne={ofOne} onOpen={onOpen} />}
              </div>
            );
          })}
        </div>
      </div>
      {!following && (
        <Button
          className="activity-newest"
          size="xs"
          leftSection={<IconArrowDown size={14} aria-hidden />}
          onClick={toEnd}
        >
          {t("activity.newest")}
        </Button>
      )}
    </div>
  );
}

const icons = { allow: IconCheck, ask: IconQuestionMark, deny: IconX };

const CallRow = memo(function CallRow({
  record,
  ofOne,
  onOpen,
}: { record: CallRecord } & Pick<ListProps, "ofOne" | "onOpen">) {
  const t = useMessages();
  const { time, full } = useTimes();
  const { verdict, outcome, clientName, serverName } = record;
  const Icon = icons[verdict.decision];
  const tool = subjectName(record.subject);
  return (
    <button
      type="button"
      className="activity-row"
      aria-label={t("activity.open", {
        tool,
        server: serverName,
        client: clientName,
        outcome: outcomeLabel(t, outcome),
      })}
      onClick={() => {
        onOpen(record);
      }}
    >
      <span title={full(record.at)}>{time(record.at)}</span>
      <span>{clientName}</span>
      {!ofOne && <span>{serverName}</span>}
      <span className="mono">{tool}</span>
      <span className={`activity-verdict activity-${verdict.decision}`} title={ruleLabel(t, verdict.rule)}>
        <Icon size={14} aria-hidden /> {t(`activity.verdict.${verdict.decision}`)}{" "}
        <span className="activity-dim">{ruleLabel(t, verdict.rule)}</span>
      </span>
      <span>{outcomeLabel(t, outcome)}</span>
      <span className="activity-right">{durationLabel(t, record.durationMs)}</span>
    </button>
  );
});
