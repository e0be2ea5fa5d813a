import type { Commands } from "../generated/commands";
import type { Event, LogLine } from "../generated/types";

type Reading = keyof Commands;

const servers: Reading[] = ["servers.list", "status"];
/** What each client sees. */
const toolLists: Reading[] = ["clients.list", "profiles.list"];
const audit: Reading = "audit.latest";
/** A conversation says which tools its model gets, and what their list costs. */
const conversation: Reading = "chat.show";

/** The queries that an event makes stale. */
export function invalidatedQueries(event: Event): readonly Reading[] {
  switch (event.event) {
    case "server_added":
    case "server_removed":
      return [...servers, "policy.show", "imports.sources", audit];
    case "sign_in_changed":
      return [...servers, "policy.show", audit];
    case "server_started":
    case "server_stopped":
    case "running_servers":
    case "sign_in_needed":
      return servers;
    case "status_changed":
      return [...servers, "servers.catalog", "servers.icon"];
    case "tools_changed":
      return [...servers, "tools.list", "tools.omitted", "policy.show", ...toolLists, conversation];
    case "prompts_changed":
    case "resources_changed":
      return ["servers.list", "servers.catalog"];
    case "config_changed":
      return [
        ...servers,
        "servers.icon",
        "policy.findings",
        "approvals.list",
        "policy.show",
        "settings.show",
        "registry.report",
        audit,
      ];
    case "call_progress":
      return [];
    case "call_started":
    case "call_task_changed":
      return ["calls.running"];
    case "call_finished":
      return event.outcome.outcome === "failed" || event.outcome.outcome === "rpc_error"
        ? ["calls.list", "calls.running", "servers.list"]
        : ["calls.list", "calls.running"];
    case "approval_requested":
    case "approval_changed":
      return ["approvals.list", "status"];
    case "approval_resolved":
    case "approval_expired":
    case "approval_withdrawn":
      return ["approvals.list", "status", "calls.running", audit];
    case "client_connected":
    case "client_gone":
      return ["clients.list", "clients.apps", "status"];
    case "client_tool_list":
      return ["clients.list", "clients.apps"];
    case "log_line":
      // An error is counted on the server's card.
      return isError(event.line) ? ["servers.log", "servers.list"] : ["servers.log"];
    case "pause_changed":
      return ["status", "policy.show", audit];
    case "switch_changed":
      return [...servers, "settings.show", audit];
    case "permissions_changed":
      return [...servers, "policy.show", "policy.findings", "tools.list", ...toolLists, audit];
    case "models_changed":
      return ["models.show", "approvals.list", conversation, audit];
    case "conversation_changed":
      return ["chat.list", conversation];
    // The text is in the event.
    case "conversation_delta":
      return [];
    case "profiles_changed":
      return [...toolLists, audit];
  }
}

const isError = ({ level }: LogLine) =>
  level === "error" || level === "critical" || level === "alert" || level === "emergency";
