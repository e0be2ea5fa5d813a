// Labels of approval requests: access classes, warnings, lifetimes.

import type { CallApprovalRequest, ChoiceLifetime, ClassReason, Warning } from "../generated/types";
import type { Render, Translate } from "../messages";

export function classReasonLabel(t: Translate, reason: ClassReason): string {
  switch (reason.by) {
    case "override":
      return t("ask.reason.override");
    case "annotation":
      return t("ask.reason.annotation", { hint: reason.hint });
    case "name":
      return t("ask.reason.name", { word: reason.word });
    case "description":
      return t("ask.reason.description", { word: reason.word });
    case "trusted_label":
      return t("ask.reason.trusted");
    case "not_a_tool":
      return t("ask.reason.notATool");
    case "default":
      return t("ask.reason.default");
  }
}

export function warningLabel(t: Translate, warning: Warning, render: Render): string {
  switch (warning.warning) {
    case "first_use":
      return t("ask.warn.first");
    case "definition_changed":
      return t("ask.warn.changed");
    case "hidden_characters":
      return t("ask.warn.hidden", { place: warning.place });
    case "look_alikes":
      return t("ask.warn.alike", { place: warning.place });
    case "unconfirmed_server":
      return t("ask.warn.unconfirmed");
    case "unknown_program":
      return t("ask.warn.unknownProgram");
    case "other_program":
      return t("ask.warn.program", { before: warning.before });
    case "unbound_grant":
      return t("ask.warn.firstUse", { program: warning.program, what: render(warning.what) });
  }
}

/** Whether the core offers no permanent grants because of this warning. */
export function preventsPermanentGrant({ warning }: Warning): boolean {
  switch (warning) {
    case "definition_changed":
    case "hidden_characters":
    case "unconfirmed_server":
    case "unknown_program":
      return true;
    case "first_use":
    case "look_alikes":
    case "other_program":
    case "unbound_grant":
      return false;
  }
}

export function lifetimeLabel(t: Translate, lifetime: ChoiceLifetime, call: CallApprovalRequest): string {
  return t(`ask.life.${lifetime}`, { client: call.client.name });
}
