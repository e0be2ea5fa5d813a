import { Button, NativeSelect } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  IconActivity,
  IconArrowDown,
  IconGauge,
  IconPlugConnected,
  IconServer2,
  IconShieldQuestion,
} from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useNames } from "../core/useNames";
import { formatRoute } from "../app-shell/route";
import type { EventEnvelope, UserError } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { useFollowEnd } from "../components/useFollowEnd";
import { toUserError } from "../platform";
import { eventKinds, eventLabel, eventKindOf, type EventKind } from "./labels";

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
  const { area, following, toEnd, onScroll } = useFollowEnd(shown.length);
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => area.current,
    estimateSize: () => 32,
    overscan: 12,
    getItemKey: (at) => shown[at]?.seq ?? at,
  });
  return (
    <>
      <div className="activity-filters">
        <NativeSelect
          size="sm"
          aria-label={t("activity.kind")}
          data={[
            { value: "", label: `${t("activity.kind")}: ${t("activity.any")}` },
            ...eventKinds.map((value) => ({ value, label: t(`activity.kind.${value}`) })),
          ]}
          value={kind}
          onChange={(event) => {
            setKind(eventKinds.find((one) => one === event.currentTarget.value) ?? "");
          }}
        />
        <CopyButton text={shown.map((one) => JSON.stringify(one)).join("\n")} label={t("activity.copyEvents")} />
      </div>
      {error && <ErrorAlert error={error} />}
      {shown.length === 0 ? (
        <EmptyState
          icon={<IconActivity size={26} />}
          title={t("activity.noEvents")}
          text={t("activity.noEventsText")}
        />
      ) : (
        <div className="activity-list">
          <div
            className="activity-scroll"
            ref={area}
            onScroll={onScroll}
            role="list"
            aria-label={t("activity.events")}
            tabIndex={0}
          >
            <div style={{ height: rows.getTotalSize(), position: "relative" }}>
              {rows.getVirtualItems().map((row) => {
                const envelope = shown[row.index];
                if (!envelope) return null;
                const { event } = envelope;
                const Icon = icons[eventKindOf(event)];
                const words = eventLabel(t, event, names);
                return (
                  <div
                    key={row.key}
                    role="listitem"
                    className="activity-place event"
                    style={{ transform: `translateY(${String(row.start)}px)` }}
                  >
                    <span className="activity-dim" title={full(envelope.at)}>
                      {time(envelope.at)}
                    </span>
                    <Icon size={15} aria-hidden />
                    {event.event === "status_changed" ? (
                      <a href={formatRoute({ page: "server", id: event.server, tab: "logs" })} title={words}>
                        {words}
                      </a>
                    ) : (
                      <span title={words}>{words}</span>
                    )}
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
      )}
    </>
  );
}

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
      } else if (envelope.event.event !== "log_line" && envelope.event.event !== "call_progress") {
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
