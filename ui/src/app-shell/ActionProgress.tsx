import { Button, Loader } from "@mantine/core";
import { useMutationState } from "@tanstack/react-query";

import { SLOW_MS } from "../components/slow";
import { useNow } from "../components/useNow";
import { useCore } from "../core/CoreProvider";
import { stopRun } from "../core/stopRun";
import { useAction } from "../core/useAction";
import type { Commands } from "../generated/commands";
import { useMessages, type MessageKey } from "../messages";
import styles from "./ActionProgress.module.css";

type Running = { id: number; name: keyof Commands; args: unknown; since: number };

/** What the actions are called that can take long. */
const names: Partial<Record<keyof Commands, MessageKey>> = {
  "servers.add": "action.add",
  "servers.edit": "action.edit",
  "servers.test": "action.test",
  "servers.start": "action.start",
  "servers.reconnect": "action.start",
  "servers.stop": "action.stop",
  "servers.remove": "action.remove",
  "servers.reset": "action.remove",
  "servers.signIn": "action.signIn",
  "servers.signOut": "action.signOut",
  "imports.run": "action.import",
  "bundles.read": "action.bundle",
  "registry.search": "action.registry",
  "registry.fill": "action.registry",
  "audit.verify": "action.verify",
  "audit.export": "action.export",
  "calls.export": "action.export",
  "policy.autoApprove": "action.permissions",
};

/**
 * Shows that actions are running: a bar at the top, after 300 ms by its style, and what runs where it takes long.
 */
export function ActionProgress() {
  const running = useMutationState<Running>({
    filters: { status: "pending" },
    select: ({ mutationId, options, state }) => ({
      id: mutationId,
      name: options.mutationKey?.[0] as keyof Commands,
      args: state.variables,
      since: state.submittedAt,
    }),
  });
  if (running.length === 0) return null;
  return (
    <>
      <div className={styles.bar} aria-hidden />
      <SlowActions running={running} />
    </>
  );
}

function SlowActions({ running }: { running: readonly Running[] }) {
  const t = useMessages();
  const now = useNow(500);
  const slow = running.filter(({ since }) => now - since >= SLOW_MS);
  return (
    <div role="status" className={styles.slow}>
      {slow.map((action) => (
        <div key={action.id} className={styles.action}>
          <Loader size="xs" />
          <span>{t(names[action.name] ?? "action.other")}</span>
          <CancelButton action={action} />
        </div>
      ))}
    </div>
  );
}

/** Cancels an action, if the core can: by the name of its run, or by its server. */
function CancelButton({ action: { name, args } }: { action: Running }) {
  const t = useMessages();
  const { platform } = useCore();
  const stop = useAction("servers.stop");
  const cancelSignIn = useAction("servers.cancelSignIn");
  const run = runOf(args);
  const cancel = () => {
    if (run !== null) {
      stopRun(platform, run);
      return;
    }
    const { server } = args as Commands["servers.signIn" | "servers.start" | "servers.reconnect"]["args"];
    void (name === "servers.signIn" ? cancelSignIn.run({ server }) : stop.run({ server, disable: false }));
  };
  const hasServer = name === "servers.signIn" || name === "servers.start" || name === "servers.reconnect";
  if (run === null && !hasServer) return null;
  return (
    <Button size="compact-xs" variant="default" onClick={cancel}>
      {t("appShell.cancel")}
    </Button>
  );
}

/** The name that the action's run was given. */
function runOf(args: unknown): string | null {
  if (typeof args !== "object" || args === null || !("run" in args)) return null;
  return typeof args.run === "string" ? args.run : null;
}
