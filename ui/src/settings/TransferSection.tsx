import { Button, Group, Modal } from "@mantine/core";
import { useState } from "react";

import { showError, useAction } from "../core/useAction";
import type { ExportedConfiguration } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { toUserError } from "../platform";
import { ConfigurationImport } from "./ConfigurationImport";
import { SettingsSection } from "./SettingsSection";

/** Exports everything but secrets to a file, and imports such a file. */
export function TransferSection() {
  const t = useMessages();
  const render = useRender();
  const { request, busy } = useAction("configuration.export");
  const [exported, setExported] = useState<ExportedConfiguration | null>(null);
  const [isImporting, setIsImporting] = useState(false);
  const close = () => {
    setIsImporting(false);
  };
  return (
    <SettingsSection title={t("transfer.title")} text={t("transfer.text")}>
      <Group gap="xs">
        <Button
          variant="default"
          loading={busy}
          onClick={() => {
            request({ save: true }).then(setExported, (thrown: unknown) => {
              showError(toUserError(thrown));
            });
          }}
        >
          {t("transfer.export")}
        </Button>
        <Button
          variant="default"
          onClick={() => {
            setIsImporting(true);
          }}
        >
          {t("transfer.import")}
        </Button>
      </Group>
      {exported !== null && (
        <div role="status">
          <p className="selectable">{t("transfer.exported", { file: exported.file ?? "" })}</p>
          {exported.leftOut.map((what, at) => (
            <p key={at} className="dim">
              {render(what)}
            </p>
          ))}
        </div>
      )}
      <Modal
        opened={isImporting}
        onClose={close}
        title={t("transfer.importTitle")}
        size="lg"
        closeOnClickOutside={false}
      >
        {isImporting && <ConfigurationImport onDone={close} />}
      </Modal>
    </SettingsSection>
  );
}
