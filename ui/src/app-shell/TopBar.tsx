import { Button } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconSearch } from "@tabler/icons-react";

import { useAction } from "../core/useAction";
import type { StatusReport } from "../generated/types";
import { keyNames } from "../keyboard/shortcuts";
import { useMessages } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { commandPalette } from "./paletteStore";
import styles from "./TopBar.module.css";

/** Search, the gateway's address, and the switch that stops everything. */
export function TopBar({ report }: { report: StatusReport | undefined }) {
  const t = useMessages();
  return (
    <header className={styles.bar}>
      <button type="button" className={styles.search} onClick={commandPalette.open}>
        <IconSearch size={15} aria-hidden />
        <span>{t("appShell.search")}</span>
        <kbd>{keyNames("palette").flat().join(" ")}</kbd>
      </button>
      {report && (
        <>
          <div className={styles.address}>
            <code className="selectable" title={t("appShell.gateway")}>
              {report.endpoint}
            </code>
            <CopyButton text={report.endpoint} label={t("appShell.copyGateway")} />
          </div>
          <PauseSwitch paused={report.paused} />
        </>
      )}
    </header>
  );
}

function PauseSwitch({ paused }: { paused: boolean }) {
  const t = useMessages();
  const pause = useAction("pause");
  const resume = useAction("resume");
  return paused ? (
    <Button
      size="xs"
      leftSection={<IconPlayerPlay size={15} aria-hidden />}
      loading={resume.busy}
      onClick={() => void resume.run({})}
    >
      {t("appShell.resume")}
    </Button>
  ) : (
    <Button
      size="xs"
      variant="default"
      leftSection={<IconPlayerPause size={15} aria-hidden />}
      loading={pause.busy}
      onClick={() => void pause.run({})}
    >
      {t("appShell.pause")}
    </Button>
  );
}
