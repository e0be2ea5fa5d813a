// Calls and events in words.

import { recordedClientName, type Names } from "../core/useNames";
import type { CallOutcome, Event, Rule, ServerStatus, SignInState, StatusCause, Subject } from "../generated/types";
import type { MessageKey, Translate } from "../messages";
import { durationLabel } from "../messages/duration";
import { textLine, userErrorLine, userErrorText } from "../messages/userError";

export function subjectName(subject: Subject): string {
  switch (subject.kind) {
    case "tool":
    case "prompt":
      return subject.name;
    case "resource":
      return subject.uri;
    case "completion":
      return subject.reference;
    case "request":
      return subject.method;
  }
}

export function ruleLabel(t: Translate, rule: Rule): string {
  if (rule.rule === "policy_file") return t("activity.rule.policy_file", { reason: rule.reason });
  if (rule.rule === "hidden_by_profile") return t("activity.rule.hidden_by_profile", { profile: rule.profile });
  if (rule.rule === "rate_limited") return t("activity.rule.rate_limited", { perMinute: rule.perMinute });
  return t(`activity.rule.${rule.rule}`);
}

export function outcomeLabel(t: Translate, outcome: CallOutcome): string {
  return t(`activity.outcome.${outcome.outcome}`, outcome.outcome === "rpc_error" ? { code: outcome.code } : {});
}

export type EventKind = "servers" | "calls" | "approvals" | "clients" | "gatehouse";

export const eventKinds: readonly EventKind[] = ["servers", "calls", "approvals", "clients", "gatehouse"];

export function eventKindOf({ event }: Event): EventKind {
  switch (event) {
    case "server_added":
    case "server_removed":
    case "server_started":
    case "server_stopped":
    case "status_changed":
    case "running_servers":
    case "tools_changed":
    case "prompts_changed":
    case "resources_changed":
    case "sign_in_needed":
    case "sign_in_changed":
    case "log_line":
      return "servers";
    case "call_started":
    case "call_progress":
    case "call_task_changed":
    case "call_finished":
      return "calls";
    case "approval_requested":
    case "approval_changed":
    case "approval_resolved":
    case "approval_expired":
    case "approval_withdrawn":
      return "approvals";
    case "client_connected":
    case "client_gone":
    case "client_tool_list":
    case "profiles_changed":
      return "clients";
    case "config_changed":
    case "pause_changed":
    case "switch_changed":
    case "permissions_changed":
    case "models_changed":
    case "conversation_changed":
    case "conversation_delta":
      return "gatehouse";
  }
}

/** One sentence for every event. */
export function eventLabel(t: Translate, event: Event, names: Names): string {
  switch (event.event) {
    case "server_added":
    case "server_removed":
      return t(`event.${event.event}`, { server: event.name });
    case "server_started":
    case "server_stopped":
    case "tools_changed":
    case "prompts_changed":
    case "resources_changed":
    case "sign_in_needed":
      return t(`event.${event.event}`, { server: names.server(event.server) });
    case "sign_in_changed":
      return signInLabel(t, event.signIn, names.server(event.server));
    case "status_changed":
      return t("event.status_changed", {
        server: names.server(event.server),
        status: t(statusLabel(event.status)),
        cause: causeLabel(t, event.cause),
      });
    case "running_servers":
      return t("event.running_servers", { count: event.servers.length });
    case "config_changed":
      if (event.problem !== null) return t("event.config_problem", { problem: userErrorLine(t, event.problem) });
      if (event.cause === "file") return t(event.unconfirmed ? "event.config_unconfirmed" : "event.config_file");
      return t(`event.config.${event.cause}`, { server: event.name ?? "" });
    case "call_started":
      return t(event.input === "" ? "event.call_started.bare" : "event.call_started", {
        client: names.client(event.client),
        tool: event.tool,
        server: names.server(event.server),
        input: event.input,
      });
    case "call_progress":
      return t("event.call_progress");
    case "call_task_changed":
      return t("event.call_task_changed", { state: t(`activity.task.${event.state}`) });
    case "call_finished":
      return t("event.call_finished", {
        outcome: outcomeLabel(t, event.outcome),
        took: durationLabel(t, event.durationMs),
      });
    case "approval_requested": {
      const { request } = event.pending;
      if (request.kind === "step_up") return t("event.approval_requested.step_up", { server: request.server.name });
      if (request.kind !== "call") return t("event.approval_requested.other");
      return t("event.approval_requested", {
        client: recordedClientName(t, { client: request.client.id, clientName: request.client.name }),
        title: request.title,
        server: request.server.name,
      });
    }
    case "approval_changed":
      return t("event.approval_changed");
    case "approval_resolved":
      return t(event.allowed ? "event.approval_resolved.allowed" : "event.approval_resolved.denied");
    case "approval_expired":
      return t("event.approval_expired");
    case "approval_withdrawn":
      return t("event.approval_withdrawn");
    case "client_connected":
    case "client_gone":
      return t(`event.${event.event}`, { client: names.client(event.client) });
    case "client_tool_list":
      return t(event.isStale ? "event.client_tool_list.stale" : "event.client_tool_list.current", {
        client: names.client(event.client),
      });
    case "log_line":
      return t("event.log_line", { server: names.server(event.server), text: event.line.text });
    case "pause_changed":
      return t(event.paused ? "event.paused" : "event.resumed");
    case "switch_changed":
      return t(event.on ? "event.switched_on" : "event.switched_off");
    case "profiles_changed":
      return t("event.profiles_changed");
    case "models_changed":
    case "conversation_changed":
    case "conversation_delta":
      return t(`event.${event.event}`);
    case "permissions_changed":
      return t(event.verified ? "event.permissions" : "event.permissions_unverified");
  }
}

function signInLabel(t: Translate, signIn: SignInState, server: string): string {
  switch (signIn.is) {
    case "out":
      return signIn.problem === null
        ? t("event.signed_out", { server })
        : t("event.sign_in_failed", { server, problem: userErrorText(t, signIn.problem).title });
    case "waiting":
      return t("event.signing_in", { server, host: signIn.host });
    case "in":
      return signIn.account === null
        ? t("event.signed_in", { server })
        : t("event.signed_in.as", { server, account: signIn.account });
  }
}

function causeLabel(t: Translate, cause: StatusCause): string {
  return t(`cause.${cause.cause}`, cause.cause === "unexpected_close" ? { reason: textLine(t, cause.reason) } : {});
}

function statusLabel({ state }: ServerStatus): MessageKey {
  switch (state) {
    case "disabled":
      return "servers.off";
    case "stopped":
      return "servers.stopped";
    case "connecting":
      return "servers.connecting";
    case "connected":
      return "servers.running";
    case "needs_auth":
      return "servers.needsAuth";
    case "needs_client_registration":
      return "servers.needsClient";
    case "failed":
      return "servers.failed";
  }
}
