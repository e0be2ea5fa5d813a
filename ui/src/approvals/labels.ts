// Labels of approval requests: access classes, warnings, lifetimes.

import type {
  AccessClassification,
  CallApprovalRequest,
  ChoiceLifetime,
  ClassReason,
  Warning,
} from "../generated/types";
import type { Render, Translate } from "../messages";

/** What a tool may do, in the words of the three states (PERM-2): reads, says that it only reads, can make changes. */
export function classLabel(t: Translate, { class: known, reason }: AccessClassification): string {
  return t(reason.by === "untrusted_label" ? "ask.class.untrusted" : `ask.class.${known}`);
}

export function classReasonLabel(t: Translate, reason: ClassReason): string {
  switch (reason.by) {
    case "override":
      return t("ask.reason.override");
    case "annotation":
      return t("ask.reason.annotation");
    case "name":
      return t("ask.reason.name", { word: reason.word });
    case "description":
      return t("ask.reason.description", { word: reason.word });
    case "trusted_label":
      return t("ask.reason.trusted");
    case "untrusted_label":
      return t("ask.reason.untrusted");
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
      return t("ask.warn.hidden", { place: render(warning.place) });
    case "look_alikes":
      return t("ask.warn.alike", { place: render(warning.place) });
    case "unknown_program":
      return t("ask.warn.unknownProgram");
    case "other_program":
      return t("ask.warn.program", { before: warning.before });
    case "unbound_grant":
      return t("ask.warn.firstUse", { program: warning.program, what: render(warning.what) });
  }
}

/** What a warning means for permanent answers, where it does: that there are none, or what one approves. */
export function permanentNote(t: Translate, { warnings, choices }: CallApprovalRequest): string | null {
  const isOffered = choices.some(({ lifetime }) => lifetime === "always");
  if (!isOffered) return warnings.some(preventsPermanentGrant) ? t("ask.noAlways") : null;
  return warnings.some(({ warning }) => warning === "definition_changed") ? t("ask.alwaysChanged") : null;
}

/** Whether the core may offer no permanent grants because of this warning. */
function preventsPermanentGrant({ warning }: Warning): boolean {
  switch (warning) {
    case "definition_changed":
    case "hidden_characters":
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
