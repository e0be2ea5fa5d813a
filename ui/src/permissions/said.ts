// All that there is to say of a rule, so that it can be found and counted. Pure.

import { ruleSentence, type Names } from "../ask/rules";
import type { Grant, RuleView, ToolView } from "../gen/types";
import type { Translate } from "../messages";
import { covers } from "../servers/rules";

/** A rule with its sentence, and with everything in which words are looked for. */
export type Said = { view: RuleView; sentence: string; text: string };

/** Empty where nothing is wanted. */
export type Filter = { text: string; kind: "" | "allow" | "deny" | "timed"; server: string; client: string };

export const noFilter: Filter = { text: "", kind: "", server: "", client: "" };

/** Every rule, the newest first. */
export function said(t: Translate, views: readonly RuleView[], names: Names): readonly Said[] {
  return views
    .map((view) => {
      const { rule, lastUsed } = view;
      const sentence = ruleSentence(t, rule, names);
      const all = [
        sentence,
        view.sentence,
        rule.reason,
        rule.program,
        ...Object.keys(rule.pins),
        rule.server && names.server(rule.server.server),
        rule.clients.clients === "one" ? names.client(rule.clients.client) : null,
        lastUsed === null ? t("perm.never") : names.time(lastUsed),
        names.time(rule.created),
      ];
      return { view, sentence, text: all.filter(Boolean).join("\n").toLowerCase() };
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

/** What an allow comes to for the tools that are known. */
export type Reach = {
  /** How many tools it was given for; nothing where it is not wide. */
  count: number | null;
  /** Tools that it was given for, and whose definition is another one since: they ask (PERM-8). */
  changed: readonly string[];
  /** Tools that came later, and ask. */
  later: number;
};

export function reachOf(rule: Grant, tools: readonly ToolView[]): Reach | null {
  if (rule.effect === "deny" || rule.server === null || rule.width.width === "call") return null;
  const { server, generation } = rule.server;
  const own = tools.filter((tool) => tool.server === server && tool.generation === generation && covers(rule, tool));
  const isWide = rule.width.width !== "tool";
  return {
    count: isWide ? Object.keys(rule.pins).length : null,
    changed: own.filter(({ name, fingerprint }) => rule.pins[name] !== undefined && rule.pins[name] !== fingerprint).map(({ name }) => name),
    later: isWide ? own.filter(({ name }) => rule.pins[name] === undefined).length : 0,
  };
}
