import { describe, expect, it } from "vitest";

import type { CallAsk, Condition, GrantChoice } from "../gen/types";
import { catalogues } from "../messages/catalogues";
import { fill, type Translate } from "../messages";
import { atFirst, chosen, conditions, denials, denyAtFirst, lasting, lifetimes, pick, widths } from "./choices";
import { someAsk } from "./example";
import { choiceSentence, denialSentence } from "./words";

const t: Translate = (key, values = {}) => fill(catalogues.en[key], values);
const inside: Condition = { pointer: "/path", test: { test: "inside", folder: "/home/ana/notes" } };

function call(differs: Partial<CallAsk> = {}): CallAsk {
  const { ask } = someAsk("a", differs);
  if (ask.ask !== "call") throw new Error("not a call");
  return ask;
}

const narrowed: GrantChoice = { lifetime: "always", width: "tool", everyClient: false, conditions: [inside] };
const withCondition = call({ choices: [...call().choices, narrowed] });
const read = call({ class: { class: "read", reason: { by: "override" }, reachesOutside: true } });

describe("an allow", () => {
  const offered = lasting(call().choices);

  it("begins with this tool, until Gatehouse quits", () => {
    expect(atFirst(offered)).toEqual({ width: "tool", lifetime: "until_quit", everyClient: false, condition: null, isUnfinished: false });
  });

  it("is never for more than what is offered", () => {
    expect(widths(offered)).toEqual(["tool"]);
    expect(lifetimes(offered, atFirst(offered))).toEqual(["until_quit", "always"]);
    expect(chosen(offered, { ...atFirst(offered), everyClient: true })).toBeNull();
    expect(pick(offered, atFirst(offered), { everyClient: true }).everyClient).toBe(false);
  });
});

describe("an allow with a condition", () => {
  const offered = lasting(withCondition.choices);
  const start = atFirst(offered);
  const own: Condition = { pointer: "/path", test: { test: "glob", pattern: "/home/ana/*.md" } };

  it("narrows what is offered, also by a condition that was not proposed", () => {
    const picked = pick(offered, start, { condition: own, lifetime: "always" });
    expect(chosen(offered, picked)).toEqual({ lifetime: "always", width: "tool", everyClient: false, conditions: [own] });
  });

  it("is for no longer than what is offered without one", () => {
    const short = offered.filter(({ lifetime }) => lifetime !== "always");
    const picked = pick(short, atFirst(short), { condition: own, lifetime: "always" });
    expect(picked.lifetime).toBe("until_quit");
    expect(chosen(short, { ...picked, lifetime: "always" })).toBeNull();
  });

  it("is none while it says nothing", () => {
    expect(chosen(offered, pick(offered, start, { condition: null, isUnfinished: true }))).toBeNull();
  });

  it("goes with a tool alone", () => {
    const picked = pick(denials(call()), { ...denyAtFirst, width: "tool", condition: own }, { width: "server" });
    expect([picked.condition, picked.isUnfinished]).toEqual([null, false]);
  });
});

describe("a denial", () => {
  it.each<[string, CallAsk, string[]]>([
    ["a write", call(), ["call", "tool", "server", "client"]],
    ["a read, also one that reaches outside", read, ["call", "tool", "reads", "server", "client"]],
  ])("of %s can be as wide as %s", (_, about, expected) => {
    expect(widths(denials(about))).toEqual(expected);
  });

  it("is for this call and this once, until something else is picked", () => {
    const offered = denials(call());
    expect(chosen(offered, denyAtFirst)).toEqual({ lifetime: "once", width: "call", everyClient: false, conditions: [] });
    expect(pick(offered, denyAtFirst, { width: "server" })).toEqual({ width: "server", lifetime: "quarter_hour", everyClient: false, condition: null, isUnfinished: false });
    expect(lifetimes(offered, denyAtFirst)).toEqual(["once", "quarter_hour", "until_quit", "always"]);
  });

  it("lasts for a session only where there is one, and then for that client alone", () => {
    const offered = denials(call({ client: { ...call().client, session: "s" } }));
    const picked = pick(offered, denyAtFirst, { width: "tool", lifetime: "session" });
    expect(picked.lifetime).toBe("session");
    expect(chosen(offered, { ...picked, everyClient: true })).toBeNull();
    expect(widths(denials(call())).flatMap((width) => lifetimes(denials(call()), { ...denyAtFirst, width }))).not.toContain("session");
  });

  it("can be for every client, but not where it is about one client", () => {
    const offered = denials(call());
    const every = (width: "tool" | "server" | "client" | "call") => chosen(offered, { width, lifetime: "always", everyClient: true, condition: null, isUnfinished: false });
    expect([every("tool"), every("server"), every("client"), every("call")].map((one) => one !== null)).toEqual([true, true, false, false]);
  });

  it("takes the conditions that are proposed", () => {
    const offered = denials(withCondition);
    expect(conditions(offered, "tool")).toEqual([inside]);
    expect(conditions(offered, "server")).toEqual([]);
    const picked = pick(offered, pick(offered, denyAtFirst, { width: "tool" }), { condition: inside });
    expect(chosen(offered, picked)?.conditions).toEqual([inside]);
    // Another width drops what does not go with it.
    expect(pick(offered, picked, { width: "call" }).condition).toBeNull();
  });

  it("is offered whole where no allow may last", () => {
    expect(widths(denials(call({ choices: call().choices.slice(0, 1) })))).toEqual(["call", "tool", "server", "client"]);
  });
});

describe("the whole deed", () => {
  it.each<[string, string]>([
    [denialSentence(t, { lifetime: "once", width: "call", everyClient: false, conditions: [] }, call()), "Deny this exact call"],
    [denialSentence(t, { lifetime: "always", width: "tool", everyClient: true, conditions: [] }, call()), "Always deny files: Write file, for every client"],
    [denialSentence(t, { lifetime: "until_quit", width: "client", everyClient: false, conditions: [] }, call()), "Deny everything on every server until Gatehouse quits, for Claude Code"],
    [denialSentence(t, { ...narrowed, lifetime: "quarter_hour" }, call()), "Deny files: Write file when path is inside /home/ana/notes for 15 minutes, for Claude Code"],
    [choiceSentence(t, narrowed, call()), "Always allow files: Write file when path is inside /home/ana/notes, for Claude Code"],
  ])("is one sentence: %s", (sentence, expected) => {
    expect(sentence).toBe(expected);
  });
});
