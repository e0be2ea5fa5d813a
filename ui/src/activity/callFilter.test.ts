import { describe, expect, it } from "vitest";

import { everyCall } from "../core/callFilter";
import { filterOf, isFiltered, noChoice, type CallChoice } from "./callFilter";

describe("the filter of calls", () => {
  it.each<[string, Partial<CallChoice>, string | null, object]>([
    ["nothing chosen", {}, null, {}],
    ["words without white space around them", { text: "  a b " }, null, { text: "a b" }],
    ["white space alone", { text: "   " }, null, {}],
    ["a server", { server: "s" }, null, { server: "s" }],
    ["the server of a page before a chosen one", { server: "s" }, "own", { server: "own" }],
    ["a range until it was chosen", { range: "hour", now: 10_000_000 }, null, { since: 6_400_000 }],
    [
      "everything together",
      { client: "c", tool: "t", decision: "deny", outcome: "denied" },
      null,
      { client: "c", tool: "t", decision: "deny", outcome: "denied" },
    ],
  ])("for %s", (_, choice, of, expected) => {
    expect(filterOf({ ...noChoice, ...choice }, of)).toEqual({ ...everyCall, ...expected });
  });

  it.each<[Partial<CallChoice>, boolean]>([
    [{}, false],
    [{ text: "  " }, false],
    [{ now: 5 }, false],
    [{ text: "a" }, true],
    [{ range: "day" }, true],
    [{ outcome: "ok" }, true],
  ])("of %j counts as one: %j", (choice, counts) => {
    expect(isFiltered({ ...noChoice, ...choice })).toBe(counts);
  });
});
