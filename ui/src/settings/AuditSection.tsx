import { Button, Drawer, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconAlertCircle, IconCircleCheck } from "@tabler/icons-react";
import { useState } from "react";

import { showError, useAction } from "../core/useAction";
import { useCoreQuery } from "../core/useCoreQuery";
import type { AuditVerdict, ExportFormat } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { toUserError } from "../platform";
import { AuditEntries } from "./AuditEntries";
import { SettingsSection } from "./SettingsSection";
import styles from "./AuditSection.module.css";

/** Verifies and exports the audit log. */
export function AuditSection() {
  const t = useMessages();
  const render = useRender();
  const verify = useAction("audit.verify");
  const copy = useAction("audit.export");
  const acknowledge = useAction("audit.acknowledge");
  const { refetch } = useCoreQuery("status", {});
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  const [shown, setShown] = useState(false);
  const failed = (thrown: unknown) => {
    const error = toUserError(thrown);
    if (error.code !== "cancelled") showError(error);
  };
  const toClipboard = (format: ExportFormat) => {
    copy
      .request({ format, run: crypto.randomUUID() })
      .then(({ text }) => navigator.clipboard.writeText(text))
      .then(() => {
        notifications.show({ message: t("settings.copied"), color: "teal", autoClose: 2000 });
      }, failed);
  };
  return (
    <SettingsSection title={t("settings.audit")} text={t("settings.auditText")}>
      <Group gap="xs">
        <Button
          variant="default"
          onClick={() => {
            setShown(true);
          }}
        >
          {t("audit.show")}
        </Button>
        <Button
          variant="default"
          loading={verify.busy}
          onClick={() => {
            verify.request({ run: crypto.randomUUID() }).then(setVerdict, failed);
          }}
        >
          {t("settings.verify")}
        </Button>
        <Button
          variant="default"
          onClick={() => {
            toClipboard("json_lines");
          }}
        >
          {t("settings.copyJson")}
        </Button>
        <Button
          variant="default"
          onClick={() => {
            toClipboard("csv");
          }}
        >
          {t("settings.copyCsv")}
        </Button>
      </Group>
      {verdict?.result === "broken" && (
        <Group gap="xs">
          <Button
            variant="default"
            loading={acknowledge.busy}
            onClick={() => {
              acknowledge.request({}).then(() => {
                void refetch();
                notifications.show({ message: t("settings.acknowledged"), color: "teal", autoClose: 4000 });
              }, failed);
            }}
          >
            {t("settings.acknowledge")}
          </Button>
        </Group>
      )}
      {verdict && (
        <p role="status" className={verdict.result === "whole" ? styles.whole : styles.broken}>
          {verdict.result === "whole" ? (
            <IconCircleCheck size={16} aria-hidden />
          ) : (
            <IconAlertCircle size={16} aria-hidden />
          )}{" "}
          {verdict.result === "whole"
            ? t("settings.verified", { count: verdict.entries })
            : t("settings.broken", { number: verdict.seq, why: render(verdict.reason) })}
        </p>
      )}
      <Drawer
        opened={shown}
        onClose={() => {
          setShown(false);
        }}
        position="right"
        size="lg"
        lockScroll={false}
        closeButtonProps={{ "aria-label": t("appShell.close") }}
        title={t("audit.entries")}
      >
        {shown && <AuditEntries />}
      </Drawer>
    </SettingsSection>
  );
}
