import { Button, Group, Modal, Text } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { flushPageState } from "../core/pageState";
import { useMessages } from "../messages";
import { navigate } from "../navigation/route";
import { offerServer } from "../navigation/serverOffer";
import type { PreferencesProps } from "../theme/useAppearance";

/**
 * What the window says, locked or not, and what the shell asks of it. It is loaded after the first paint. Until then
 * notifications and offered servers are kept, and closing the window closes it without a word.
 */
export function WindowNotices(look: PreferencesProps) {
  return (
    <>
      <Notifications position="bottom-right" limit={4} />
      <CloseNotice {...look} />
    </>
  );
}

/** Explains, when the window is first closed, that Gatehouse keeps running. */
function CloseNotice({ preferences, onPreferences }: PreferencesProps) {
  const t = useMessages();
  const { platform } = useCore();
  const [asked, setAsked] = useState(false);
  useEffect(
    () =>
      platform.signals((signal) => {
        if (signal === "closing") setAsked(true);
        else if ("add_server" in signal) {
          offerServer({ link: signal.add_server });
          navigate({ page: "servers" });
        } else if ("add_bundle" in signal) {
          offerServer({ bundle: signal.add_bundle });
          navigate({ page: "servers" });
        } else if (signal.open === "approvals") navigate({ page: "approvals" });
        else if (signal.open === "settings") navigate({ page: "settings" });
        else if (signal.open === "servers") navigate({ page: "servers" });
        else navigate({ page: "server", id: signal.open.server, tab: "tools" });
      }),
    [platform],
  );
  const close = () => {
    setAsked(false);
    onPreferences({ ...preferences, saidKeepsRunning: true });
    flushPageState();
    platform.close().catch(ignored);
  };
  return (
    <Modal
      opened={asked}
      onClose={() => {
        setAsked(false);
      }}
      title={t("appShell.stillRuns")}
      centered
    >
      <Text mb="lg">{t("appShell.stillRunsText")}</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={() => void platform.quit().catch(ignored)}>
          {t("appShell.quitInstead")}
        </Button>
        <Button onClick={close} data-autofocus>
          {t("appShell.stillRunsOk")}
        </Button>
      </Group>
    </Modal>
  );
}

/** The window is on its way out: nobody is there to be told of a failure. */
function ignored() {
  return undefined;
}
