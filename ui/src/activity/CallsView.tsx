import { Drawer } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconActivity, IconCheck, IconQuestionMark, IconX } from "@tabler/icons-react";
import clsx from "clsx";
import { memo, useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { CallRecord, Decision } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { FilterBar, FilterInput, FilterSelect } from "../components/FilterBar";
import { FollowingList } from "../components/FollowingList";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CallDetails } from "./CallDetails";
import { RunningCalls } from "./RunningCalls";
import { useCallHistory } from "./useCallHistory";
import { useRunningCalls } from "./useRunningCalls";
import { durationLabel } from "../messages/duration";
import { outcomeLabel, ruleLabel, subjectName } from "./labels";
import activityListStyles from "./ActivityList.module.css";
import styles from "./CallsView.module.css";

const decisions: readonly Decision[] = ["allow", "deny", "ask"];

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
  return (
    <>
      <FilterBar>
        <FilterInput label={t("activity.filter")} text={text} onChange={setText} />
        {of === null && (
          <FilterSelect
            label={t("activity.server")}
            all={`${t("activity.server")}: ${t("activity.any")}`}
            options={servers.map(({ config }) => [config.id, config.name])}
            value={server}
            onChange={setServer}
          />
        )}
        <FilterSelect
          label={t("activity.client")}
          all={`${t("activity.client")}: ${t("activity.any")}`}
          options={clients.map(({ id, name }) => [id, name])}
          value={client}
          onChange={setClient}
        />
        <FilterSelect
          label={t("activity.verdict")}
          all={`${t("activity.verdict")}: ${t("activity.any")}`}
          options={decisions.map((value) => [value, t(`activity.verdict.${value}`)])}
          value={decision}
          onChange={setDecision}
        />
      </FilterBar>
      {error && <ErrorAlert error={error} />}
      {!isFiltered && <RunningCalls running={running} ofOne={of !== null} />}
      {loading && <LoadingIndicator />}
      {!loading &&
        shown.length === 0 &&
        running.length === 0 &&
        (isFiltered ? (
          <p className="dim">{t("activity.noMatch")}</p>
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
        closeButtonProps={{ "aria-label": t("appShell.close") }}
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

/** Call records below the names of their columns. */
function CallList({ ofOne, records, onOlder, onOpen }: ListProps) {
  const t = useMessages();
  return (
    <div className={ofOne ? clsx(activityListStyles.list, styles.ofOneServer) : activityListStyles.list}>
      <div className={clsx(styles.row, styles.columns)} aria-hidden>
        <span>{t("activity.time")}</span>
        <span>{t("activity.client")}</span>
        {!ofOne && <span>{t("activity.server")}</span>}
        <span>{t("activity.tool")}</span>
        <span>{t("activity.verdict")}</span>
        <span>{t("activity.result")}</span>
        <span className={styles.right}>{t("activity.took")}</span>
      </div>
      <FollowingList
        role="list"
        label={t("activity.calls")}
        toEndLabel={t("activity.newest")}
        className={activityListStyles.scroll}
        items={records}
        itemKey={({ id }) => id}
        rowHeight={36}
        onNearStart={onOlder}
      >
        {(record) => <CallRow record={record} ofOne={ofOne} onOpen={onOpen} />}
      </FollowingList>
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
      className={styles.row}
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
      <span className={clsx(styles.verdict, styles[verdict.decision])} title={ruleLabel(t, verdict.rule)}>
        <Icon size={14} aria-hidden /> {t(`activity.verdict.${verdict.decision}`)}{" "}
        <span className="dim">{ruleLabel(t, verdict.rule)}</span>
      </span>
      <span>{outcomeLabel(t, outcome)}</span>
      <span className={styles.right}>{durationLabel(t, record.durationMs)}</span>
    </button>
  );
});
