import { Drawer } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconActivity, IconCheck, IconQuestionMark, IconX } from "@tabler/icons-react";
import clsx from "clsx";
import { memo, useMemo, useState } from "react";

import { usePageState } from "../core/pageState";
import { recordedClientName } from "../core/useNames";
import type { CallRecord } from "../generated/types";
import { useMessages, useTimes, type Translate } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { FollowingList } from "../components/FollowingList";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CallDetails } from "./CallDetails";
import { filterOf, isFiltered, noChoice } from "./callFilter";
import { CallFilters } from "./CallFilters";
import { CallTraffic } from "./CallTraffic";
import { noNames, withRecorded } from "./recordedNames";
import { RunningCalls } from "./RunningCalls";
import { useCallHistory } from "./useCallHistory";
import { durationLabel } from "../messages/duration";
import { useRunningCalls } from "../running/useRunningCalls";
import { outcomeLabel, ruleLabel, subjectName } from "./labels";
import activityListStyles from "./ActivityList.module.css";
import styles from "./CallsView.module.css";

/** Calls, newest at the bottom; of one server alone where it is given. */
export function CallsView({ of = null }: { of?: string | null }) {
  const t = useMessages();
  const [choice, setChoice] = usePageState(of === null ? "activity.calls" : `activity.calls/${of}`, noChoice);
  const [words] = useDebouncedValue(choice.text, 200);
  const [opened, setOpened] = useState<CallRecord | null>(null);
  const filter = filterOf({ ...choice, text: words }, of);
  const { records, loading, error, older } = useCallHistory(filter);
  const [names, setNames] = useState(noNames);
  const recorded = withRecorded(names, records);
  if (recorded !== names) setNames(recorded);
  const all = useRunningCalls();
  const running = of === null ? all : all.filter((call) => call.server === of);
  const hasFilter = isFiltered(choice);
  const shown = useMemo(() => records.toReversed(), [records]);
  return (
    <>
      {of !== null && <CallTraffic server={of} />}
      <CallFilters choice={choice} onChange={setChoice} of={of} shown={filter} recorded={recorded} />
      {error && <ErrorAlert error={error} />}
      {!hasFilter && <RunningCalls running={running} ofOne={of !== null} />}
      {loading && <LoadingIndicator />}
      {!loading &&
        shown.length === 0 &&
        running.length === 0 &&
        (hasFilter ? (
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

const recordId = ({ id }: CallRecord) => id;

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
        itemKey={recordId}
        rowHeight={36}
        onNearStart={onOlder}
      >
        {(record) => <CallRow record={record} ofOne={ofOne} onOpen={onOpen} />}
      </FollowingList>
    </div>
  );
}

/** The times of a call in words: without the wait for a person, the wait, and both. */
const took = (t: Translate, { durationMs, waitedMs }: CallRecord) => ({
  ran: durationLabel(t, durationMs - waitedMs),
  waited: durationLabel(t, waitedMs),
  total: durationLabel(t, durationMs),
});

const icons = { allow: IconCheck, ask: IconQuestionMark, deny: IconX };

const CallRow = memo(function CallRow({
  record,
  ofOne,
  onOpen,
}: { record: CallRecord } & Pick<ListProps, "ofOne" | "onOpen">) {
  const t = useMessages();
  const { time, full } = useTimes();
  const { verdict, outcome, serverName } = record;
  const client = recordedClientName(t, record);
  const Icon = icons[verdict.decision];
  const tool = subjectName(record.subject);
  return (
    <button
      type="button"
      className={styles.row}
      aria-label={t("activity.open", {
        tool,
        server: serverName,
        client,
        outcome: outcomeLabel(t, outcome),
      })}
      onClick={() => {
        onOpen(record);
      }}
    >
      <span title={full(record.at)}>{time(record.at)}</span>
      <span>{client}</span>
      {!ofOne && <span>{serverName}</span>}
      <span className="mono">{tool}</span>
      <span className={clsx(styles.verdict, styles[verdict.decision])} title={ruleLabel(t, verdict.rule)}>
        <Icon size={14} aria-hidden /> {t(`activity.verdict.${verdict.decision}`)}{" "}
        <span className="dim">{ruleLabel(t, verdict.rule)}</span>
      </span>
      <span>{outcomeLabel(t, outcome)}</span>
      <span className={styles.right} title={t("activity.tookTitle", took(t, record))}>
        {durationLabel(t, record.durationMs - record.waitedMs)}
      </span>
    </button>
  );
});
