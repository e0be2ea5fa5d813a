import type { Commands } from "../gen/commands";
import type { Event } from "../gen/types";

type Reading = keyof Commands;

const servers: Reading[] = ["servers.list", "status"];

/** The readings that an event makes old. */
export function affected({ event }: Event): readonly Reading[] {
  switch (event) {
    case "server_added":
    case "server_removed":
    case "server_started":
    case "server_stopped":
    case "running_servers":
    case "sign_in_needed":
    case "sign_in_changed":
      return servers;
    case "status_changed":
      return [...servers, "servers.offer"];
    case "tools_changed":
      return [...servers, "tools.list"];
    case "prompts_changed":
    case "resources_changed":
      return ["servers.list", "servers.offer"];
    case "config_changed":
      return [...servers, "approvals.list"];
    case "call_started":
    case "call_progress":
      return [];
    case "call_finished":
      return ["calls.list"];
    case "approval_requested":
    case "approval_changed":
    case "approval_resolved":
    case "approval_expired":
      return ["approvals.list", "status"];
    case "client_connected":
    case "client_gone":
      return ["clients.list", "status"];
    case "log_line":
      return ["servers.log"];
    case "pause_changed":
      return ["status", "policy.show"];
    case "switch_changed":
      return [...servers, "settings.show"];
    case "rights_changed":
      return [...servers, "policy.show", "tools.list", "clients.list"];
  }
}
