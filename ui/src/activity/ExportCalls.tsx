import { Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconDownload } from "@tabler/icons-react";
import { useState } from "react";

import { useCore } from "../core/CoreProvider";
import { stopRun } from "../core/stopRun";
import { showError, useAction } from "../core/useAction";
import type { CallExportFormat, CallFilter } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";

const formats: readonly CallExportFormat[] = ["json_lines", "csv", "har"];

/** Writes the calls that a filter shows to a file, which the core does, and says where. */
export function ExportCalls({ filter }: { filter: CallFilter }) {
  const t = useMessages();
  const { platform } = useCore();
  const { request } = useAction("calls.export");
  const [run, setRun] = useState<string | null>(null);
  const start = (format: CallExportFormat) => {
    const name = crypto.randomUUID();
    setRun(name);
    request({ filter, format, run: name })
      .then(
        ({ path, calls }) => {
          notifications.show({
            title: t("activity.exported", { count: calls }),
            message: path,
            color: "teal",
            autoClose: 8000,
          });
        },
        (thrown: unknown) => {
          const error = toUserError(thrown);
          if (error.code !== "cancelled") showError(error);
        },
      )
      .finally(() => {
        setRun(null);
      });
  };
  if (run !== null) {
    return (
      <Button
        variant="default"
        onClick={() => {
          stopRun(platform, run);
        }}
      >
        {t("activity.stopExport")}
      </Button>
    );
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={15} aria-hidden />}>
          {t("activity.export")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {formats.map((format) => (
          <Menu.Item
            key={format}
            onClick={() => {
              start(format);
            }}
          >
            {t(`activity.export.${format}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
