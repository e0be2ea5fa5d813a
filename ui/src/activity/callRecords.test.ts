import { describe, expect, it } from "vitest";

import { everyCall } from "../core/callFilter";
import type { CallRecord } from "../generated/types";
import { around, endedBefore, mergeRecords, withLate } from "./callRecords";

/** Records with these ids. */
const records = (...ids: string[]) => ids.map((id) => ({ id }) as CallRecord);
const ids = (list: readonly CallRecord[]) => list.map(({ id }) => id).join(" ");

describe("call records", () => {
  it.each([
    ["the first page", "b a", "", "b a"],
    ["calls that ended", "e d c", "c b a", "e d c b a"],
    ["a call that began earlier than others and ended later", "d c b", "d b a", "d c b a"],
    ["none", "", "b a", "b a"],
    ["a full page of calls", "f e d c", "c b a", "f e d c b a"],
  ])("are merged with %s", (_, newest, before, merged) => {
    const list = (text: string) => records(...text.split(" ").filter(Boolean));
    expect(ids(mergeRecords(list(newest), list(before), 4) ?? [])).toBe(merged);
  });

  it("are not merged with a page that may leave a gap", () => {
    expect(mergeRecords(records("f", "e", "d"), records("b", "a"), 3)).toBeNull();
    expect(mergeRecords(records("f", "e"), records("d", "c"), 3)).toHaveLength(4);
  });

  it("stay the same when a page is read again", () => {
    const before = records("d", "c", "b", "a");
    expect(mergeRecords(records("d", "c"), before, 2)).toBe(before);
    expect(mergeRecords(records("e", "d"), before, 2)?.[1]).toBe(before[0]);
  });

  it("are looked for by themselves where they began before a full newest page", () => {
    const at = (time: number, id: string) => ({ id, at: time }) as CallRecord;
    const newest = [at(3000, "c"), at(2000, "b")];
    const ended = [
      { id: "long", began: 500 },
      { id: "b", began: 2000 },
      { id: "other", began: 2500 },
    ];
    expect(endedBefore(newest, ended, 2)).toEqual([{ id: "long", began: 500 }]);
    expect(endedBefore(newest, ended, 3)).toEqual([]);
  });

  it("are looked for at their beginning, within what is filtered", () => {
    const late = { id: "long", began: 500 };
    expect(around(late, everyCall)).toEqual({ ...everyCall, since: 490, until: 510 });
    expect(around(late, { ...everyCall, tool: "x", since: 495, until: 9000 })).toEqual({
      ...everyCall,
      tool: "x",
      since: 495,
      until: 510,
    });
  });

  it("take a late one in at its place, once, and not beyond what was read", () => {
    const at = (time: number, id: string) => ({ id, at: time }) as CallRecord;
    const before = [at(30, "d"), at(20, "b"), at(10, "a")];
    expect(ids(withLate(before, at(20, "c"), false))).toBe("d c b a");
    expect(withLate(before, at(20, "b"), false)).toBe(before);
    expect(withLate(before, at(5, "z"), false)).toBe(before);
    expect(ids(withLate(before, at(5, "z"), true))).toBe("d b a z");
  });
});
