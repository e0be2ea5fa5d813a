import { describe, expect, it } from "vitest";

import type { CallRecord } from "../generated/types";
import { mergeRecords } from "./callRecords";

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
});
