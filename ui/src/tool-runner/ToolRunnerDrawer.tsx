import { Drawer } from "@mantine/core";
import { lazy, Suspense, useState } from "react";

import { useCore } from "../core/CoreProvider";
import type { ToolView } from "../generated/types";
import { useMessages } from "../messages";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { toUserError } from "../platform";
import { addRun, endRun, type ToolRun } from "./runHistory";

/** Brings a form for any schema, and an editor. */
const ToolRunner = lazy(() => import("./ToolRunner"));

/** The tool runner beside the list of tools. The run history lasts as long as the page. */
export function ToolRunnerDrawer({ tool, onClose }: { tool: ToolView | null; onClose: () => void }) {
  const t = useMessages();
  const { platform } = useCore();
  const [runs, setRuns] = useState<readonly ToolRun[]>([]);
  const call = ({ server, name }: ToolView, args: string) => {
    const id = crypto.randomUUID();
    const settle = (end: ToolRun["end"]) => {
      setRuns((before) => endRun(before, id, end));
    };
    setRuns((before) => addRun(before, { id, tool: name, args, at: Date.now(), end: "running" }));
    platform.command("servers.callTool", { server, tool: name, arguments: args, run: id }).then(
      (shown) => {
        settle({ shown });
      },
      (thrown: unknown) => {
        settle({ error: toUserError(thrown) });
      },
    );
  };
  return (
    <Drawer
      opened={tool !== null}
      onClose={onClose}
      position="right"
      size="lg"
      lockScroll={false}
      closeButtonProps={{ "aria-label": t("appShell.close") }}
      title={tool ? t("toolRunner.title", { tool: tool.title ?? tool.name }) : ""}
    >
      {tool && (
        <Suspense fallback={<LoadingIndicator />}>
          <ToolRunner
            key={tool.name}
            tool={tool}
            runs={runs.filter((one) => one.tool === tool.name)}
            onRun={(args) => {
              call(tool, args);
            }}
            onStop={(id) => {
              setRuns((before) => endRun(before, id, "stopped"));
              // What has ended by itself meanwhile needs no word.
              platform.command("servers.stopTool", { run: id }).catch(() => undefined);
            }}
          />
        </Suspense>
      )}
    </Drawer>
  );
}
