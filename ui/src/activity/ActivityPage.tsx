import { SegmentedControl } from "@mantine/core";

import { navigate } from "../navigation/route";
import { useMessages } from "../messages";
import { Page } from "../components/Page";
import { CallsView } from "./CallsView";
import { EventsView } from "./EventsView";

/** The Activity page: calls or events. */
export function ActivityPage({ view }: { view: "calls" | "events" }) {
  const t = useMessages();
  return (
    <Page
      title={t("activity.title")}
      actions={
        <SegmentedControl
          aria-label={t("activity.view")}
          data={(["calls", "events"] as const).map((value) => ({ value, label: t(`activity.${value}`) }))}
          value={view}
          onChange={(wanted) => {
            navigate({ page: "activity", view: wanted });
          }}
        />
      }
    >
      {view === "calls" ? <CallsView /> : <EventsView />}
    </Page>
  );
}
