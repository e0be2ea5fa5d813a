// All that there is to say of a rule, so that it can be found and counted. Pure.

import type { RuleView } from "../generated/types";
import type { Render, Translate } from "../messages";

/** A rule with its sentence, a note where it may not be a person's own, and everything in which words are looked for. */
export type Said = { view: RuleView; sentence: string; note: string | null; text: string };

/** Empty where nothing is wanted. */
export type Filter = { text: string; kind: "" | "allow" | "deny" | "timed"; server: string; client: string };

export const noFilter: Filter = { text: "", kind: "", server: "", client: "" };

/** How the window says things: its own texts, those of the core, and moments. */
export type Speaking = { t: Translate; render: Render; time: (at: number) => string };

/** Every rule, the newest first. */
export function said({ t, render, time }: Speaking, views: readonly RuleView[]): readonly Said[] {
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
