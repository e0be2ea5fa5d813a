// All that there is to say of a rule, so that it can be found and counted. Pure.

import { authorNote, ruleSentence, type Names } from "../ask/rules";
import type { RuleView } from "../gen/types";
import type { Translate } from "../messages";

/** A rule with its sentence, a note where it may not be a person's own, and everything in which words are looked for. */
export type Said = { view: RuleView; sentence: string; note: string | null; text: string };

/** Empty where nothing is wanted. */
export type Filter = { text: string; kind: "" | "allow" | "deny" | "timed"; server: string; client: string };

export const noFilter: Filter = { text: "", kind: "", server: "", client: "" };

/** Every rule, the newest first. */
export function said(t: Translate, views: readonly RuleView[], names: Names): readonly Said[] {
  return views
    .map((view) => {
      const { rule, lastUsed } = view;
      const sentence = ruleSentence(t, rule, names);
      const note = authorNote(t, rule.author, names);
      const all = [
        sentence,
        note,
        view.sentence,
        rule.reason,
        rule.program,
        ...Object.keys(rule.pins),
        rule.server && names.server(rule.server.server),
        rule.clients.clients === "one" ? names.client(rule.clients.client) : null,
        lastUsed === null ? t("perm.never") : names.time(lastUsed),
        names.time(rule.created),
      ];
      return { view, sentence, note, text: all.filter(Boolean).join("\n").toLowerCase() };
    })
    .toSorted((one, other) => other.view.rule.created - one.view.rule.created);
}

/** The rules that fit: of every word something, and of every choice. */
export function fitting(all: readonly Said[], { text, kind, server, client }: Filter): readonly Said[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(
    ({ view: { rule }, text: of }) =>
      words.every((word) => of.includes(word)) &&
      (kind === "" || (kind === "timed" ? rule.lifetime.lifetime !== "always" : rule.effect === kind)) &&
      (server === "" || rule.server === null || rule.server.server === server) &&
      (client === "" || rule.clients.clients === "every" || rule.clients.client === client),
  );
}
