// All that there is to say of a rule, so that it can be found and counted. Pure.

import type { RuleView } from "../generated/types";
import type { Render, Translate } from "../messages";

/** A rule with its description, a note on its origin, and the text that is searched. */
export type DescribedRule = { view: RuleView; sentence: string; note: string | null; text: string };

export const ruleKinds = ["allow", "deny", "timed"] as const;

/** A filter that is empty filters nothing. */
export type RuleFilter = { text: string; kind: "" | (typeof ruleKinds)[number]; server: string; client: string };

export const emptyFilter: RuleFilter = { text: "", kind: "", server: "", client: "" };

/** Translation of the window's texts, of the core's texts, and of times. */
export type Wording = { t: Translate; render: Render; time: (at: number) => string };

/** All rules, newest first. */
export function describeRules({ t, render, time }: Wording, views: readonly RuleView[]): readonly DescribedRule[] {
  return views
    .map((view) => {
      const { rule, lastUsed } = view;
      const sentence = render(view.sentence);
      const note = view.note && render(view.note);
      const all = [
        sentence,
        note,
        rule.reason,
        rule.program,
        ...Object.keys(rule.pins),
        lastUsed === null ? t("perm.never") : time(lastUsed),
        time(rule.created),
      ];
      return { view, sentence, note, text: all.filter(Boolean).join("\n").toLowerCase() };
    })
    .toSorted((one, other) => other.view.rule.created - one.view.rule.created);
}

/** The rules that match every word and every filter. */
export function filterRules(
  all: readonly DescribedRule[],
  { text, kind, server, client }: RuleFilter,
): readonly DescribedRule[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(
    ({ view: { rule }, text: of }) =>
      words.every((word) => of.includes(word)) &&
      (kind === "" || (kind === "timed" ? rule.lifetime.lifetime !== "always" : rule.effect === kind)) &&
      (server === "" || rule.server === null || rule.server.server === server) &&
      (client === "" || rule.clients.clients === "every" || rule.clients.client === client),
  );
}
