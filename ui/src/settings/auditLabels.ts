// Entries of the audit in words.

import { seen } from "../components/invisibleChars";
import { subjectName } from "../activity/labels";
import type { Names } from "../core/useNames";
import type { AuditEntryView } from "../generated/types";
import type { Render, Translate } from "../messages";
import { textLine } from "../messages/userError";

/** Names of servers and clients, including removed ones that the entries name. */
export function namesFromEntries(names: Names, entries: readonly AuditEntryView[]): Names {
  const gone = new Map<string, string>();
  // The newest entry is first, and its name is the last one.
  for (const { event } of entries.toReversed()) {
    if (event.audit === "server_changed") gone.set(event.server, event.name);
    if (event.audit === "client_changed") gone.set(event.client, event.name);
  }
  const or = (known: string, id: string) => (known === id ? (gone.get(id) ?? id) : known);
  return { server: (id) => or(names.server(id), id), client: (id) => or(names.client(id), id) };
}

/** How entries are said: in the window's own texts, in those of the core, and with these names. */
export type AuditWording = { t: Translate; render: Render; names: Names };

/** One sentence for every entry. */
export function auditLabel(
  { event, rule }: Pick<AuditEntryView, "event" | "rule">,
  { t, render, names }: AuditWording,
): string {
  const ruleText = (id: string) => (rule === null ? t("audit.earlierRule", { id }) : render(rule));
  switch (event.audit) {
    case "decided":
      return t(event.allowed ? "audit.decided.allowed" : "audit.decided.denied", {
        subject: subjectName(event.subject),
        server: names.server(event.server),
        client: names.client(event.client),
      });
    case "lapsed":
      return t("audit.lapsed");
    case "granted":
      return t("audit.granted", { rule: ruleText(event.rule.id) });
    case "revoked":
      return t("audit.revoked", { rule: ruleText(event.rule) });
    case "grant_bound":
      return event.program === null
        ? t("audit.unbound", { rule: ruleText(event.rule) })
        : t("audit.bound", { rule: ruleText(event.rule), program: seen(event.program) });
    case "auto_approve_set": {
      const who = event.client === null ? t("rule.everyClient") : names.client(event.client);
      return t(`audit.auto.${event.to}`, { server: names.server(event.server), who });
    }
    case "class_set": {
      const places = { tool: event.tool, server: names.server(event.server) };
      return event.now === null ? t("audit.class.cleared", places) : t(`audit.class.${event.now.class}`, places);
    }
    case "labels_trusted":
      return t(event.trusted ? "audit.labels.trusted" : "audit.labels.distrusted", {
        server: names.server(event.server),
      });
    case "server_changed":
      return t(`audit.server.${oneOf(serverChanges, event.what)}`, { name: event.name, what: event.what });
    case "settings_changed":
      return t("audit.settings", { what: textLine(t, event.what) });
    case "hand_edit":
      return t(event.confirmed ? "audit.handEdit.confirmed" : "audit.handEdit.refused", {
        file: event.file,
        server: event.server,
      });
    case "client_changed":
      return t(`audit.client.${oneOf(clientChanges, event.what)}`, { name: event.name, what: event.what });
    case "profile_changed":
      return t(event.now === null ? "audit.profile.removed" : "audit.profile.set", { name: event.name });
    case "profile_assigned": {
      const client = names.client(event.client);
      return event.profile === null
        ? t("audit.profile.none", { client })
        : t("audit.profile.assigned", { client, profile: event.profile });
    }
    case "sign_in": {
      const server = names.server(event.server);
      return event.what === "signed_in" && event.account !== null
        ? t("audit.signIn.signed_in.as", { server, account: event.account })
        : t(`audit.signIn.${event.what}`, { server });
    }
    case "server_request_answered": {
      const plain = t(`audit.request.${event.request}`, { server: names.server(event.server) });
      const request =
        event.client === null ? plain : t("audit.request.for", { request: plain, client: names.client(event.client) });
      return t(`audit.answer.${event.answer}`, { request });
    }
    case "client_access_answered":
      return t(`audit.answer.${event.answer}`, { request: t("audit.request.access", { client: event.name }) });
    case "command_answered":
      return t(`audit.answer.${event.answer}`, {
        request: t("audit.request.command", { command: event.command, what: render(event.what) }),
      });
    case "model_provider_changed":
      return t(`audit.provider.${event.change}`, { name: event.name, address: event.baseUrl });
    case "models_assigned":
      return t("audit.models", {
        sampling: event.sampling ?? t("audit.models.none"),
        opinion: event.opinion ?? t("audit.models.none"),
      });
    case "sampling_generated":
      return t("audit.samplingGenerated", { model: event.model, server: names.server(event.server) });
    case "paused":
      return t(event.paused ? "audit.paused" : "audit.resumed");
    case "rights_rejected":
      return t("audit.permissionsRejected", { reason: event.reason });
    case "lifecycle":
      return event.what === "started" || event.what === "stopped" ? t(`audit.lifecycle.${event.what}`) : event.what;
  }
}

/** Who answered or made it and why, where the entry says so. */
export function auditDetail(
  { event, note }: Pick<AuditEntryView, "event" | "note">,
  { t, render }: Pick<AuditWording, "t" | "render">,
): string {
  const parts: string[] = [];
  if (note !== null) parts.push(render(note));
  if (
    event.audit === "decided" ||
    event.audit === "labels_trusted" ||
    event.audit === "server_request_answered" ||
    event.audit === "client_access_answered" ||
    event.audit === "command_answered"
  ) {
    if (event.by === "operator" || event.by === "window") parts.push(t(`audit.by.${event.by}`));
  }
  if (event.audit === "sign_in" && event.issuer !== null) parts.push(event.issuer);
  if ((event.audit === "decided" || event.audit === "sign_in") && event.reason !== null)
    parts.push(t("audit.reason", { reason: event.reason }));
  return parts.join(" · ");
}

const serverChanges = ["added", "edited", "renamed", "removed", "restored", "enabled", "disabled"] as const;
const clientChanges = ["added", "rotated", "revoked"] as const;

function oneOf<Known extends string>(known: readonly Known[], what: string): Known | "other" {
  return known.find((one) => one === what) ?? "other";
}
