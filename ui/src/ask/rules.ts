// Rules that stand, in words and with the real names.

import type { Grant, RuleAuthor, Width } from "../gen/types";
import type { Translate } from "../messages";
import { conditionWords, ruleSubject } from "./words";

/** Names of servers and clients by their ids. */
export type Names = { server: (id: string) => string; client: (id: string) => string; time: (at: number) => string };

/** One sentence: "Always allow files: all reads, for every client". */
export function ruleSentence(t: Translate, rule: Grant, names: Names): string {
  const when = rule.conditions.map((one) => conditionWords(t, one)).join(", ");
  const plain = whatOf(t, rule, names);
  const what = when === "" ? plain : t("ask.whatWhen", { what: plain, when });
  const who = rule.clients.clients === "every" ? t("ask.every") : names.client(rule.clients.client);
  const { lifetime } = rule;
  const at = lifetime.lifetime === "until" ? names.time(lifetime.at) : "";
  return t(`rule.${rule.effect}.${lifetime.lifetime}`, { what, who, at });
}

/** What is said of a rule that is not certain to be a person's own; null where it is. */
export function authorNote(t: Translate, author: RuleAuthor, names: Names): string | null {
  switch (author.author) {
    case "person":
      return null;
    case "unprivileged":
      return t("rule.author.unprivileged");
    case "confirmed":
      return t("rule.author.confirmed", { at: names.time(author.at) });
  }
}

function whatOf(t: Translate, { server, width }: Grant, names: Names): string {
  if (server === null) {
    const what = onEvery(t, width);
    return what === null ? t("rule.everything") : t("rule.onEvery", { what });
  }
  const name = names.server(server.server);
  switch (width.width) {
    case "call":
      return t("rule.call", { server: name });
    case "tool":
      return t("ask.width.tool", { server: name, title: ruleSubject(t, width.tool) });
    case "reads":
      return t("ask.width.reads", { server: name });
    case "writes":
      return t("rule.writes", { server: name });
    case "everything":
      return t("ask.width.server", { server: name });
  }
}

function onEvery(t: Translate, width: Width): string | null {
  switch (width.width) {
    case "tool":
      return ruleSubject(t, width.tool);
    case "reads":
      return t("rule.reads");
    case "writes":
      return t("rule.allWrites");
    case "call":
    case "everything":
      return null;
  }
}
