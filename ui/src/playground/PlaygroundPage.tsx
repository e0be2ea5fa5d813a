import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import clsx from "clsx";

import { useMessages } from "../messages";
import { formatRoute, navigate, type PlaygroundRoute } from "../navigation/route";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { Page } from "../components/Page";
import { CallHistory } from "./CallHistory";
import { ItemList } from "./ItemList";
import { ItemPanel } from "./ItemPanel";
import { routeKey } from "./items";
import { triedItem } from "../activity/recordedArguments";
import { usePlaygroundItems } from "./usePlaygroundItems";
import { useRecordedCall } from "./useRecordedCall";
import styles from "./PlaygroundPage.module.css";

/** Tries the tools, prompts and resources of all servers, as the user or as a client. */
export function PlaygroundPage({ route }: { route: PlaygroundRoute }) {
  const t = useMessages();
  const known = usePlaygroundItems();
  const { record, error: recordError } = useRecordedCall(route.call ?? null);
  const { items, servers, loading, error } = known;
  const tried = record && route.item === undefined ? triedItem(record.subject) : null;
  const place: PlaygroundRoute = record && tried ? { ...route, server: record.server, ...tried } : route;
  const { server, kind, item, client = null, call } = place;
  const key = routeKey(place);
  if (error) {
    return (
      <Page title={t("appShell.playground")}>
        <ErrorAlert error={error} />
      </Page>
    );
  }
  if (!loading && items.length === 0 && key === null && call === undefined) {
    return (
      <Page title={t("appShell.playground")}>
        <EmptyState
          icon={<IconPlayerPlay size={26} />}
          title={t("playground.nothing")}
          text={t("playground.nothingText")}
        >
          <Button component="a" href={formatRoute({ page: "servers" })}>
            {t("playground.toServers")}
          </Button>
        </EmptyState>
      </Page>
    );
  }
  const isReading = call !== undefined && record === undefined && !recordError;
  return (
    <Page title={t("appShell.playground")}>
      <div className={styles.playground}>
        {loading ? (
          <LoadingIndicator />
        ) : (
          <ItemList
            items={items}
            servers={servers}
            picked={key}
            onPick={(one) => {
              navigate({
                page: "playground",
                server: one.server,
                kind: one.kind,
                item: one.name,
                client: place.client,
              });
            }}
          />
        )}
        <div className={styles.selected} tabIndex={0} role="region" aria-label={t("playground.details")}>
          {recordError && <ErrorAlert error={recordError} />}
          {call !== undefined && record === null && <p role="status">{t("playground.callGone")}</p>}
          {isReading && <LoadingIndicator />}
          {key === null && !isReading && <p className={clsx("dim", styles.hint)}>{t("playground.pick")}</p>}
          {!isReading && server !== undefined && kind !== undefined && item !== undefined && (
            <ItemPanel
              key={`${key ?? ""} ${call?.id ?? ""}`}
              server={server}
              kind={kind}
              item={item}
              known={known}
              client={client}
              onClient={(next) => {
                navigate({ ...place, client: next ?? undefined });
              }}
              record={record ?? null}
            />
          )}
          <CallHistory of={key} open={call?.id ?? null} />
        </div>
      </div>
    </Page>
  );
}
