import { Button, Drawer, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconAlertCircle, IconCircleCheck } from "@tabler/icons-react";
import { useState } from "react";

import { showProblem, useAction } from "../core/useAction";
import { useReading } from "../core/useCoreQuery";
import type { AuditVerdict, ExportFormat } from "../generated/types";
import { useMessages } from "../messages";
import { asProblem } from "../platform";
import { AuditEntries } from "./AuditEntries";
import { Section } from "./SettingsSection";

/** Whether the audit is whole, and a copy of it. */
export function Audit() {
  const t = useMessages();
  const verify = useAction("audit.verify");
  const copy = useAction("audit.export");
  const acknowledge = useAction("audit.acknowledge");
  const { readAgain } = useReading("status", {});
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  const [shown, setShown] = useState(false);
  const failed = (thrown: unknown) => {
    showProblem(asProblem(thrown));
  };
  const toClipboard = (format: ExportFormat) => {
    copy
      .ask({ format })
      .then(({ text }) => navigator.clipboard.writeText(text))
      .then(() => {
        notifications.show({ message: t("settings.copied"), color: "teal", autoClose: 2000 });
      }, failed);
  };
  return (
    <Section title={t("settings.audit")} text={t("settings.auditText")}>
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
            verify.ask({}).then(setVerdict, failed);
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
              acknowledge.ask({}).then(() => {
                void readAgain();
                notifications.show({ message: t("settings.acknowledged"), color: "teal", autoClose: 4000 });
              }, failed);
            }}
          >
            {t("settings.acknowledge")}
          </Button>
        </Group>
      )}
      {verdict && (
        <p role="status" className={verdict.result === "whole" ? "audit-whole" : "audit-broken"}>
          {verdict.result === "whole" ? <IconCircleCheck size={16} aria-hidden /> : <IconAlertCircle size={16} aria-hidden />}{" "}
          {verdict.result === "whole"
            ? t("settings.verified", { count: verdict.entries })
            : t("settings.broken", { number: verdict.seq, why: verdict.reason })}
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
        closeButtonProps={{ "aria-label": t("frame.close") }}
        title={t("audit.entries")}
      >
        {shown && <AuditEntries />}
      </Drawer>
    </Section>
  );
}
