import { IconActivity, IconGauge, IconPlugConnected, IconServer2, IconShieldQuestion } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useNames } from "../core/useNames";
import { formatRoute } from "../navigation/route";
import type { Event, EventEnvelope, UserError } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { FilterBar, FilterSelect } from "../components/FilterBar";
import { FollowingList } from "../components/FollowingList";
import { toUserError } from "../platform";
import { eventKinds, eventLabel, eventKindOf, type EventKind } from "./labels";
import activityListStyles from "./ActivityList.module.css";
import styles from "./EventsView.module.css";

const icons = {
  servers: IconServer2,
  calls: IconActivity,
  approvals: IconShieldQuestion,
  clients: IconPlugConnected,
  gatehouse: IconGauge,
};

/** Events since Gatehouse started, newest at the bottom. */
export function EventsView() {
  const t = useMessages();
  const { time, full } = useTimes();
  const names = useNames();
  const { events, error } = useJournal();
  const [kind, setKind] = useState<EventKind | "">("");
  const shown = events.filter(({ event }) => kind === "" || eventKindOf(event) === kind);
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
        <CopyButton text={shown.map((one) => JSON.stringify(one)).join("\n")} label={t("activity.copyEvents")} />
      </FilterBar>
      {error && <ErrorAlert error={error} />}
      {shown.length === 0 ? (
        <EmptyState
          icon={<IconActivity size={26} />}
          title={t("activity.noEvents")}
          text={t("activity.noEventsText")}
        />
      ) : (
        <div className={activityListStyles.list}>
          <FollowingList
            role="list"
            label={t("activity.events")}
            toEndLabel={t("activity.newest")}
            className={activityListStyles.scroll}
            rowClassName={styles.event}
            items={shown}
            itemKey={({ seq }) => seq}
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

/** Kinds of events that the journal leaves out, because they would push everything else out. */
const frequent: readonly Event["event"][] = ["log_line", "call_progress", "conversation_delta", "conversation_changed"];

/** The journal, and what comes after it; read again where something was missed. */
function useJournal(): { events: readonly EventEnvelope[]; error: UserError | null } {
  const { platform, subscribe } = useCore();
  const [events, setEvents] = useState<readonly EventEnvelope[]>([]);
  const [error, setError] = useState<UserError | null>(null);
  const late = useRef<EventEnvelope[]>([]);
  useEffect(() => {
    let gone = false;
    const read = () => {
      platform.command("events.list", {}).then(
        (journal) => {
          if (gone) return;
          const last = journal.at(-1)?.seq ?? 0;
          setEvents([...journal, ...late.current.filter(({ seq }) => seq > last)]);
          setError(null);
        },
        (thrown: unknown) => {
          if (!gone) setError(toUserError(thrown));
        },
      );
    };
    read();
    const stop = subscribe((envelope) => {
      if (!envelope) {
        read();
      } else if (!frequent.includes(envelope.event.event)) {
        late.current.push(envelope);
        setEvents((before) => [...before, envelope]);
      }
    });
    return () => {
      gone = true;
      stop();
    };
  }, [platform, subscribe]);
  return { events, error };
}
