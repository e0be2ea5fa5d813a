import { Drawer } from "@mantine/core";
import { lazy, Suspense, useState } from "react";

import { useCore } from "../core/CoreProvider";
import type { ToolView } from "../generated/types";
import { useMessages } from "../messages";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { toUserError } from "../platform";
import { ended, withTry, type Try } from "./tries";

/** Brings a form for any schema, and an editor. */
const TryTool = lazy(() => import("./TryTool"));

/** Tries a tool out, beside the list. What was tried stays for as long as the page. */
export function TryDrawer({ tool, onClose }: { tool: ToolView | null; onClose: () => void }) {
  const t = useMessages();
  const { platform } = useCore();
  const [tries, setTries] = useState<readonly Try[]>([]);
  const call = ({ server, name }: ToolView, args: string) => {
    const id = crypto.randomUUID();
    const settle = (end: Try["end"]) => {
      setTries((before) => ended(before, id, end));
    };
    setTries((before) => withTry(before, { id, tool: name, args, at: Date.now(), end: "running" }));
    platform.command("servers.callTool", { server, tool: name, arguments: args, run: id }).then(
      (shown) => {
        settle({ shown });
      },
      (thrown: unknown) => {
        settle({ problem: toUserError(thrown) });
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
      closeButtonProps={{ "aria-label": t("frame.close") }}
      title={tool ? t("try.title", { tool: tool.title ?? tool.name }) : ""}
    >
      {tool && (
        <Suspense fallback={<LoadingIndicator />}>
          <TryTool
            key={tool.name}
            tool={tool}
            tries={tries.filter((one) => one.tool === tool.name)}
            onTry={(args) => {
              call(tool, args);
            }}
            onStop={(id) => {
              setTries((before) => ended(before, id, "stopped"));
              // What has ended by itself meanwhile needs no word.
              platform.command("servers.stopTool", { run: id }).catch(() => undefined);
            }}
          />
        </Suspense>
      )}
    </Drawer>
  );
}
