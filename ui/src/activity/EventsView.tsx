import { IconActivity, IconGauge, IconPlugConnected, IconServer2, IconShieldQuestion } from "@tabler/icons-react";
import { useMemo } from "react";

import { usePageState } from "../core/pageState";
import { useNames } from "../core/useNames";
import { formatRoute } from "../navigation/route";
import type { EventEnvelope } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { FilterBar, FilterSelect } from "../components/FilterBar";
import { FollowingList } from "../components/FollowingList";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { eventKinds, eventLabel, eventKindOf, type EventKind } from "./labels";
import { useEventJournal } from "./useEventJournal";
import activityListStyles from "./ActivityList.module.css";
import styles from "./EventsView.module.css";

const icons = {
  servers: IconServer2,
  calls: IconActivity,
  approvals: IconShieldQuestion,
  clients: IconPlugConnected,
  gatehouse: IconGauge,
};

const sequenceOf = ({ seq }: EventEnvelope) => seq;

/** Events since Gatehouse started, newest at the bottom. */
export function EventsView() {
  const t = useMessages();
  const { time, full } = useTimes();
  const names = useNames();
  const { events, error } = useEventJournal();
  const [kind, setKind] = usePageState<EventKind | "">("activity.events", "");
  const shown = useMemo(
    () => (kind === "" ? events : events?.filter(({ event }) => eventKindOf(event) === kind)),
    [events, kind],
  );
  return (
    <>
      <FilterBar>
        <FilterSelect
          label={t("activity.kind")}
          all={t("activity.any", { what: t("activity.kind") })}
          options={eventKinds.map((value) => [value, t(`activity.kind.${value}`)])}
          value={kind}
          onChange={setKind}
        />
        <CopyButton
          text={() => (shown ?? []).map((one) => JSON.stringify(one)).join("\n")}
          label={t("activity.copyEvents")}
        />
      </FilterBar>
      {error && <ErrorAlert error={error} />}
      {shown === undefined && error === null && <LoadingIndicator />}
      {shown?.length === 0 && (
        <EmptyState
          icon={<IconActivity size={26} />}
          title={t("activity.noEvents")}
          text={t("activity.noEventsText")}
        />
      )}
      {shown !== undefined && shown.length > 0 && (
        <div className={activityListStyles.list}>
          <FollowingList
            role="list"
            label={t("activity.events")}
            toEndLabel={t("activity.newest")}
            className={activityListStyles.scroll}
            rowClassName={styles.event}
            items={shown}
            itemKey={sequenceOf}
            rowHeight={32}
          >
            {({ at, event }) => {
              const Icon = icons[eventKindOf(event)];
              const words = eventLabel(t, event, names);
              return (
                <>
                  <span className="dim" title={full(at)}>
                    {time(at)}
                  </span>
                  <Icon size={15} aria-hidden />
                  {event.event === "status_changed" ? (
                    <a href={formatRoute({ page: "server", id: event.server, tab: "logs", time: at })} title={words}>
                      {words}
                    </a>
                  ) : (
                    <span title={words}>{words}</span>
                  )}
                </>
              );
            }}
          </FollowingList>
        </div>
      )}
    </>
  );
}
