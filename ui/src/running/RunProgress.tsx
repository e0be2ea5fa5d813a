import { Button } from "@mantine/core";
import { IconShieldQuestion } from "@tabler/icons-react";

import { OWN_CLIENT } from "../core/useNames";
import { useMessages } from "../messages";
import { formatRoute } from "../navigation/route";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CallProgress } from "./CallProgress";
import { useRunningCalls } from "./useRunningCalls";
import styles from "./RunProgress.module.css";

/** Progress of what the user has called, given by its name; where it waits for approval, the way there. */
export function RunProgress({ run }: { run: string }) {
  const t = useMessages();
  const call = useRunningCalls().find((one) => one.run === run);
  if (!call) return <LoadingIndicator />;
  return (
    <div className={styles.run}>
      <CallProgress call={call} />
      {!call.sent && call.client !== OWN_CLIENT && (
        <Button
          size="compact-sm"
          variant="light"
          component="a"
          href={formatRoute({ page: "approvals" })}
          leftSection={<IconShieldQuestion size={14} aria-hidden />}
        >
          {t("activity.showApproval")}
        </Button>
      )}
    </div>
  );
}
