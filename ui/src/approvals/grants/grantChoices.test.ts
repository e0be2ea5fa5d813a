import { describe, expect, it } from "vitest";

import type { CallApprovalRequest, Condition, OfferedCondition } from "../../generated/types";
import { render } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import {
  initialAllow,
  onePerScope,
  canCoverEveryClient,
  selectedGrant,
  coverageOf,
  initialDenial,
  lastingChoices,
  availableLifetimes,
  updateSelection,
  type GrantSelection,
} from "./grantChoices";
import { testApproval } from "../testApprovals";

const words = { language: "en", templates: catalogues.en, time: String };
const inside: Condition = { pointer: "/path", test: { test: "inside", folder: "/home/ana/notes" } };
const proposed: OfferedCondition = {
  condition: inside,
  sentence: { key: "condition.inside", params: { place: { text: "path" }, value: { text: "⟦the folder⟧" } } },
};

function call(differs: Partial<CallApprovalRequest> = {}): CallApprovalRequest {
  const { request } = testApproval("a", differs);
  if (request.kind !== "call") throw new Error("not a call");
  return request;
}

const toolForGood: GrantSelection = { ...initialDenial, width: "tool", lifetime: "always" };

describe("an allow selection", () => {
  const offered = lastingChoices(call().choices);

  it("starts with this tool until Gatehouse quits", () => {
    expect(initialAllow(offered)).toEqual({
      width: "tool",
      lifetime: "until_quit",
      everyClient: false,
      condition: null,
      isUnfinished: false,
    });
  });

  it("never exceeds the offered choices", () => {
    expect(onePerScope(offered).map(({ width }) => width)).toEqual(["tool"]);
    expect(availableLifetimes(offered, initialAllow(offered))).toEqual(["until_quit", "always"]);
    expect(selectedGrant(offered, { ...initialAllow(offered), everyClient: true }, [])).toBeNull();
    expect(canCoverEveryClient(offered, initialAllow(offered))).toBe(false);
    expect(updateSelection(offered, initialAllow(offered), { everyClient: true }).everyClient).toBe(false);
  });
});

describe("an allow selection with a condition", () => {
  const offered = lastingChoices(call().choices);
  const start = initialAllow(offered);
  const own: Condition = { pointer: "/path", test: { test: "glob", pattern: "/home/ana/*.md" } };

  it("narrows an offered choice, also by a condition that was not proposed", () => {
    const picked = updateSelection(offered, start, { condition: own, lifetime: "always" });
    expect(selectedGrant(offered, picked, [])?.choice).toEqual({
      lifetime: "always",
      width: "tool",
      everyClient: false,
      conditions: [own],
    });
  });

  it("has no longer lifetime than the choice without a condition", () => {
    const short = offered.filter(({ lifetime }) => lifetime !== "always");
    const picked = updateSelection(short, initialAllow(short), { condition: own, lifetime: "always" });
    expect(picked.lifetime).toBe("until_quit");
    expect(selectedGrant(short, { ...picked, lifetime: "always" }, [])).toBeNull();
  });

  it("is empty while the condition is unfinished", () => {
    const picked = updateSelection(offered, start, { condition: null, isUnfinished: true });
    expect(selectedGrant(offered, picked, [])).toBeNull();
    expect(canCoverEveryClient(offered, { ...picked, lifetime: "always" })).toBe(false);
  });

  it("is available for the tool scope only", () => {
    const picked = updateSelection(
      call().denials,
      { ...initialDenial, width: "tool", condition: own },
      { width: "server" },
    );
    expect([picked.condition, picked.isUnfinished]).toEqual([null, false]);
  });
});

describe("a deny selection", () => {
  const offered = call().denials;

  it("starts with this call, once", () => {
    expect(selectedGrant(offered, initialDenial, [])?.choice).toEqual({
      lifetime: "once",
      width: "call",
      everyClient: false,
      conditions: [],
    });
    expect(updateSelection(offered, initialDenial, { width: "server" })).toEqual({
      width: "server",
      lifetime: "quarter_hour",
      everyClient: false,
      condition: null,
      isUnfinished: false,
    });
    expect(availableLifetimes(offered, initialDenial)).toEqual(["once", "quarter_hour", "until_quit", "always"]);
  });

  it("covers every client where the core offers that", () => {
    const every = (width: GrantSelection["width"]) => canCoverEveryClient(offered, { ...toolForGood, width });
    expect([every("tool"), every("server"), every("client"), every("call")]).toEqual([true, true, false, false]);
  });

  it("takes conditions and drops them when the scope changes", () => {
    const picked = updateSelection(offered, updateSelection(offered, initialDenial, { width: "tool" }), {
      condition: inside,
    });
    expect(selectedGrant(offered, picked, [proposed])?.choice.conditions).toEqual([inside]);
    expect(updateSelection(offered, picked, { width: "call" }).condition).toBeNull();
  });
});

describe("a selection", () => {
  const allows = call().choices;
  const { denials } = call();
  const narrow = { ...toolForGood, condition: inside };

  it.each<[CallApprovalRequest["choices"], GrantSelection, OfferedCondition[], string]>([
    [denials, initialDenial, [], "Deny this exact call"],
    [denials, { ...toolForGood, everyClient: true }, [], "Always deny files: Write file, for every client"],
    [
      denials,
      { ...toolForGood, width: "client", lifetime: "until_quit" },
      [],
      "Deny everything on every server until Gatehouse quits, for Claude Code",
    ],
    [
      denials,
      { ...narrow, lifetime: "quarter_hour" },
      [],
      "Deny files: Write file when path is inside /home/ana/notes for 15 minutes, for Claude Code",
    ],
    [allows, narrow, [], "Always allow files: Write file when path is inside /home/ana/notes, for Claude Code"],
    // What the core proposed is said in its words.
    [allows, narrow, [proposed], "Always allow files: Write file when path is inside ⟦the folder⟧, for Claude Code"],
  ])("is described in one sentence (%#)", (offered, picked, proposals, expected) => {
    const answer = selectedGrant(offered, picked, proposals);
    expect(answer && render(answer.sentence, words)).toBe(expected);
  });

  it("is labelled by its coverage", () => {
    expect(onePerScope(denials).map((choice) => render(coverageOf(choice), words))).toEqual([
      "this exact call",
      "files: Write file",
      "everything on files",
      "everything on every server",
    ]);
  });
});
