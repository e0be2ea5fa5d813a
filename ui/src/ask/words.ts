// Questions and answers in words: access classes, warnings, and what each choice would allow.

import type { CallAsk, ChoiceLifetime, ClassReason, Condition, GrantChoice, Warning, Width } from "../gen/types";
import type { MessageKey, Translate } from "../messages";

export function reasonWords(t: Translate, reason: ClassReason): string {
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

export function warningWords(t: Translate, warning: Warning): string {
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
      return t("ask.warn.firstUse", { program: warning.program, what: allowedBy(t, warning.width) });
  }
}

/** What a rule of this width allows, of the server that is asked about. */
function allowedBy(t: Translate, width: Width): string {
  return width.width === "tool" ? ruleSubject(t, width.tool) : t(`ask.allowedBy.${width.width}`);
}

/** Whether a warning keeps the core from offering what lasts for ever. */
export function keepsFromAlways({ warning }: Warning): boolean {
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

export function lifetimeWords(t: Translate, lifetime: ChoiceLifetime, call: CallAsk): string {
  return t(`ask.life.${lifetime}`, { client: call.client.name });
}

/** What a choice covers, without its conditions. */
export function widthWords(t: Translate, { width }: Pick<GrantChoice, "width">, call: CallAsk): string {
  return t(`ask.width.${width}`, { server: call.server.name, title: call.title, client: call.client.name });
}

/** What a rule's name stands for: the kind is in front of all but tools. */
export function ruleSubject(t: Translate, rule: string): string {
  const [, kind, name = ""] = /^(resource|prompt|completion):([^]*)$/.exec(rule) ?? [];
  return kind === "resource" || kind === "prompt" || kind === "completion" ? t(`rule.${kind}`, { name }) : rule;
}

/** A condition: "path is inside /home/ana/notes". */
export function conditionWords(t: Translate, { pointer, test }: Condition): string {
  const place = pointer.replace(/^\//, "").replaceAll("~1", "/").replaceAll("~0", "~");
  const key: MessageKey = `ask.when.${test.test}`;
  switch (test.test) {
    case "equals":
      return t(key, { place, value: test.value });
    case "one_of":
      return t(key, { place, value: test.values.join(", ") });
    case "starts_with":
      return t(key, { place, value: test.text });
    case "inside":
      return t(key, { place, value: test.folder });
    case "host_is":
      return t(key, { place, value: test.port === null ? test.host : `${test.host}:${String(test.port)}` });
    case "glob":
      return t(key, { place, value: test.pattern });
  }
}

/** The whole deed in one sentence, with the real names. */
export function choiceSentence(t: Translate, choice: GrantChoice, call: CallAsk): string {
  return t(`ask.sentence.${choice.lifetime}`, deedOf(t, choice, call));
}

/** The same for a denial. */
export function denialSentence(t: Translate, choice: GrantChoice, call: CallAsk): string {
  return t(`ask.refusal.${choice.lifetime}`, deedOf(t, choice, call));
}

function deedOf(t: Translate, choice: GrantChoice, call: CallAsk): { what: string; who: string } {
  const plain = choice.width === "client" ? t("rule.everything") : widthWords(t, choice, call);
  const when = choice.conditions.map((one) => conditionWords(t, one)).join(", ");
  const what = when === "" ? plain : t("ask.whatWhen", { what: plain, when });
  return { what, who: choice.everyClient ? t("ask.every") : call.client.name };
}

/** Minutes and seconds. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  return `${String(Math.floor(seconds / 60))}:${String(seconds % 60).padStart(2, "0")}`;
}
