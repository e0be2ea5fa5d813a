import { describe, expect, it } from "vitest";

import type { CallApprovalRequest, Condition, OfferedCondition } from "../../generated/types";
import { render } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { atFirst, byWidth, canBeForEvery, chosen, coverOf, denyAtFirst, lasting, lifetimes, pick, type Picked } from "./grantChoices";
import { someAsk } from "../testApprovals";

const words = { language: "en", templates: catalogues.en, time: String };
const inside: Condition = { pointer: "/path", test: { test: "inside", folder: "/home/ana/notes" } };
const proposed: OfferedCondition = { condition: inside, sentence: { key: "condition.inside", params: { place: { text: "path" }, value: { text: "⟦the folder⟧" } } } };

function call(differs: Partial<CallApprovalRequest> = {}): CallApprovalRequest {
  const { ask } = someAsk("a", differs);
  if (ask.ask !== "call") throw new Error("not a call");
  return ask;
}

const toolForGood: Picked = { ...denyAtFirst, width: "tool", lifetime: "always" };

describe("an allow", () => {
  const offered = lasting(call().choices);

  it("begins with this tool, until Gatehouse quits", () => {
    expect(atFirst(offered)).toEqual({ width: "tool", lifetime: "until_quit", everyClient: false, condition: null, isUnfinished: false });
  });

  it("is never for more than what is offered", () => {
    expect(byWidth(offered).map(({ width }) => width)).toEqual(["tool"]);
    expect(lifetimes(offered, atFirst(offered))).toEqual(["until_quit", "always"]);
    expect(chosen(offered, { ...atFirst(offered), everyClient: true }, [])).toBeNull();
    expect(canBeForEvery(offered, atFirst(offered))).toBe(false);
    expect(pick(offered, atFirst(offered), { everyClient: true }).everyClient).toBe(false);
  });
});

describe("an allow with a condition", () => {
  const offered = lasting(call().choices);
  const start = atFirst(offered);
  const own: Condition = { pointer: "/path", test: { test: "glob", pattern: "/home/ana/*.md" } };

  it("narrows what is offered, also by a condition that was not proposed", () => {
    const picked = pick(offered, start, { condition: own, lifetime: "always" });
    expect(chosen(offered, picked, [])?.choice).toEqual({ lifetime: "always", width: "tool", everyClient: false, conditions: [own] });
  });

  it("is for no longer than what is offered without one", () => {
    const short = offered.filter(({ lifetime }) => lifetime !== "always");
    const picked = pick(short, atFirst(short), { condition: own, lifetime: "always" });
    expect(picked.lifetime).toBe("until_quit");
    expect(chosen(short, { ...picked, lifetime: "always" }, [])).toBeNull();
  });

  it("is none while it says nothing", () => {
    const picked = pick(offered, start, { condition: null, isUnfinished: true });
    expect(chosen(offered, picked, [])).toBeNull();
    expect(canBeForEvery(offered, { ...picked, lifetime: "always" })).toBe(false);
  });

  it("goes with a tool alone", () => {
    const picked = pick(call().denials, { ...denyAtFirst, width: "tool", condition: own }, { width: "server" });
    expect([picked.condition, picked.isUnfinished]).toEqual([null, false]);
  });
});

describe("a denial", () => {
  const offered = call().denials;

  it("is for this call and this once, until something else is picked", () => {
    expect(chosen(offered, denyAtFirst, [])?.choice).toEqual({ lifetime: "once", width: "call", everyClient: false, conditions: [] });
    expect(pick(offered, denyAtFirst, { width: "server" })).toEqual({ width: "server", lifetime: "quarter_hour", everyClient: false, condition: null, isUnfinished: false });
    expect(lifetimes(offered, denyAtFirst)).toEqual(["once", "quarter_hour", "until_quit", "always"]);
  });

  it("can be for every client where the core offers that", () => {
    const every = (width: Picked["width"]) => canBeForEvery(offered, { ...toolForGood, width });
    expect([every("tool"), every("server"), every("client"), every("call")]).toEqual([true, true, false, false]);
  });

  it("takes conditions, and drops one that does not go with another width", () => {
    const picked = pick(offered, pick(offered, denyAtFirst, { width: "tool" }), { condition: inside });
    expect(chosen(offered, picked, [proposed])?.choice.conditions).toEqual([inside]);
    expect(pick(offered, picked, { width: "call" }).condition).toBeNull();
  });
});

describe("what is picked", () => {
  const allows = call().choices;
  const { denials } = call();
  const narrow = { ...toolForGood, condition: inside };

  it.each<[CallApprovalRequest["choices"], Picked, OfferedCondition[], string]>([
    [denials, denyAtFirst, [], "Deny this exact call"],
    [denials, { ...toolForGood, everyClient: true }, [], "Always deny files: Write file, for every client"],
    [denials, { ...toolForGood, width: "client", lifetime: "until_quit" }, [], "Deny everything on every server until Gatehouse quits, for Claude Code"],
    [denials, { ...narrow, lifetime: "quarter_hour" }, [], "Deny files: Write file when path is inside /home/ana/notes for 15 minutes, for Claude Code"],
    [allows, narrow, [], "Always allow files: Write file when path is inside /home/ana/notes, for Claude Code"],
    // What the core proposed is said in its words.
    [allows, narrow, [proposed], "Always allow files: Write file when path is inside ⟦the folder⟧, for Claude Code"],
  ])("is one sentence (%#)", (offered, picked, proposals, expected) => {
    const answer = chosen(offered, picked, proposals);
    expect(answer && render(answer.sentence, words)).toBe(expected);
  });

  it("is named by what it covers", () => {
    expect(byWidth(denials).map((choice) => render(coverOf(choice), words))).toEqual([
      "this exact call",
      "files: Write file",
      "everything on files",
      "everything on every server",
    ]);
  });
});
