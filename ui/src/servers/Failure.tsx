import { Button, Collapse, Group } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import type { ServerStatus, ServerView } from "../gen/types";
import { useMessages } from "../messages";
import { useNow } from "../parts/useNow";

type Failed = Extract<ServerStatus, { state: "failed" }>;

/** What was tried, when the next try comes, and the last words of the server. */
export function Failure({ view, status }: { view: ServerView; status: Failed }) {
  const t = useMessages();
  const now = useNow(1000);
  const start = useAction("servers.start");
  const [opened, setOpened] = useState(false);
  const left = status.nextRetry === null ? null : Math.max(0, Math.ceil((status.nextRetry - now) / 1000));
  return (
    <div className="failure">
      <Group gap="xs">
        <Button size="xs" loading={start.busy} onClick={() => void start.run({ server: view.config.id })}>
          {t("servers.again")}
        </Button>
        <Button
          size="xs"
          variant="default"
          aria-expanded={opened}
          onClick={() => {
            setOpened(!opened);
          }}
        >
          {t("servers.details")}
        </Button>
        {left !== null && <span className="dim">{t("servers.retryIn", { seconds: left })}</span>}
      </Group>
      <Collapse expanded={opened} transitionDuration={100}>
        <p className="dim">{t("servers.attempts", { count: status.attempts })}</p>
        {view.logTail.length > 0 && (
          <>
            <p className="dim">{t("servers.lastLines")}</p>
            <pre className="mono selectable log-tail" tabIndex={0}>
              {view.logTail.map(({ text }) => text).join("\n")}
            </pre>
          </>
        )}
      </Collapse>
    </div>
  );
}
