import { Button, Switch } from "@mantine/core";
import { IconEye } from "@tabler/icons-react";
import { useEffect, useState } from "react";

import { RunProgress } from "../running/RunProgress";
import { useCore } from "../core/CoreProvider";
import { useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { ServerCatalog } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { ResultParts } from "../results/ResultParts";
import { useResultRequest } from "../results/useResultRequest";
import catalogStyles from "./catalog.module.css";

type Props = {
  server: string;
  uri: string;
  catalog: ServerCatalog;
  /** Id of the client in whose name it is read; the user's where absent. */
  client?: string | null;
  disabled?: boolean;
};

/** Reads one resource, watches it where the server can tell of changes, and reads it again then. */
export function ResourceReader({ server, uri, catalog, client = null, disabled = false }: Props) {
  const t = useMessages();
  const { time } = useTimes();
  const { platform, subscribe } = useCore();
  const { refetch } = useCoreQuery("servers.catalog", { server });
  const watch = useAction("servers.watchResource");
  const { shown, error, running, busy, run, cancel, forget } = useResultRequest();
  /** Of which address the result is. */
  const [of, setOf] = useState<string | null>(null);
  const [updated, setUpdated] = useState<number | null>(null);

  useEffect(() => {
    if (of === null) return;
    return subscribe((envelope) => {
      const event = envelope?.event;
      if (event?.event !== "resources_changed" || event.server !== server || event.uri !== of) return;
      void run(async (run) => platform.command("servers.readResource", { server, uri: of, client, run })).then(
        (read) => {
          if (read) setUpdated(Date.now());
        },
      );
    });
  }, [subscribe, platform, run, server, client, of]);

  const read = () => {
    if (of !== uri) forget();
    setOf(uri);
    setUpdated(null);
    void run(async (run) => platform.command("servers.readResource", { server, uri, client, run }));
  };
  const isWatched = catalog.watched.includes(uri);
  return (
    <div className={catalogStyles.read}>
      <div className={catalogStyles.actions}>
        <Button
          size="xs"
          disabled={disabled}
          loading={busy}
          leftSection={<IconEye size={14} aria-hidden />}
          onClick={read}
        >
          {t("catalog.read")}
        </Button>
        {busy && (
          <Button size="xs" variant="default" onClick={cancel}>
            {t("catalog.cancel")}
          </Button>
        )}
        {catalog.declared.subscribe && (
          <Switch
            size="sm"
            label={t("catalog.watch")}
            disabled={watch.busy || (disabled && !isWatched)}
            checked={isWatched}
            onChange={(event) => {
              void watch.run({ server, uri, on: event.currentTarget.checked }).then(refetch);
            }}
          />
        )}
        <span role="status" className={catalogStyles.updated}>
          {updated !== null && t("catalog.updated", { time: time(updated) })}
        </span>
      </div>
      {running !== null && shown === null && <RunProgress run={running} />}
      {error && <ErrorAlert error={error} />}
      {shown && <ResultParts shown={shown} server={server} />}
    </div>
  );
}
