import type { StatusReport } from "../generated/types";
import { ActionProgress } from "./ActionProgress";
import { CommandPalette } from "./CommandPalette";
import { ShortcutsDialog } from "./ShortcutsDialog";

type ShellOverlaysProps = {
  report: StatusReport | undefined;
  showsShortcuts: boolean;
  onShortcuts: (shown: boolean) => void;
};

/** What lies above the pages. It is loaded after the first paint, which has nothing of it. */
export function ShellOverlays({ report, showsShortcuts, onShortcuts }: ShellOverlaysProps) {
  return (
    <>
      <ActionProgress />
      <CommandPalette
        paused={report?.paused ?? false}
        onShortcuts={() => {
          onShortcuts(true);
        }}
      />
      <ShortcutsDialog
        opened={showsShortcuts}
        onClose={() => {
          onShortcuts(false);
        }}
      />
    </>
  );
}
