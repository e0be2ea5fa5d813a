import { Button, Switch } from "@mantine/core";
import { IconEye } from "@tabler/icons-react";
import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useAction } from "../core/useAction";
import { useReading } from "../core/useCoreQuery";
import type { ServerCatalog } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { ProblemAlert } from "../components/ErrorAlert";
import { Waiting } from "../components/LoadingIndicator";
import { ShownResult } from "../results/ResultContent";
import { useShown } from "../results/useResultRequest";

type Props = { server: string; uri: string; offer: ServerCatalog; disabled?: boolean };

/** Reads one resource, watches it where the server can tell of changes, and reads it again then. */
export function Reader({ server, uri, offer, disabled = false }: Props) {
  const t = useMessages();
  const { time } = useTimes();
  const { platform, hear } = useCore();
  const { readAgain } = useReading("servers.offer", { server });
  const watch = useAction("servers.watchResource");
  const { shown, problem, busy, run, stop, forget } = useShown();
  /** Of which address the result is. */
  const [of, setOf] = useState<string | null>(null);
  const [updated, setUpdated] = useState<number | null>(null);

  useEffect(() => {
    if (of === null) return;
    return hear((envelope) => {
      const event = envelope?.event;
      if (event?.event !== "resources_changed" || event.server !== server || event.uri !== of) return;
      void run(platform.command("servers.readResource", { server, uri: of })).then((read) => {
        if (read) setUpdated(Date.now());
      });
    });
  }, [hear, platform, run, server, of]);

  const read = () => {
    if (of !== uri) forget();
    setOf(uri);
    setUpdated(null);
    void run(platform.command("servers.readResource", { server, uri }));
  };
  const isWatched = offer.watched.includes(uri);
  return (
    <div className="offer-read">
      <div className="offer-acts">
        <Button size="xs" disabled={disabled} loading={busy} leftSection={<IconEye size={14} aria-hidden />} onClick={read}>
          {t("offer.read")}
        </Button>
        {busy && (
          <Button size="xs" variant="default" onClick={stop}>
            {t("offer.stop")}
          </Button>
        )}
        {offer.declared.subscribe && (
          <Switch
            size="sm"
            label={t("offer.watch")}
            disabled={watch.busy || (disabled && !isWatched)}
            checked={isWatched}
            onChange={(event) => {
              void watch.run({ server, uri, on: event.currentTarget.checked }).then(readAgain);
            }}
          />
        )}
        <span role="status" className="offer-updated">
          {updated !== null && t("offer.updated", { time: time(updated) })}
        </span>
      </div>
      {busy && shown === null && <Waiting />}
      {problem && <ProblemAlert problem={problem} />}
      {shown && <ShownResult shown={shown} server={server} />}
    </div>
  );
}
