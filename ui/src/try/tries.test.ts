import { describe, expect, it } from "vitest";

import { brief, ended, withTry, type Try } from "./tries";

const one = (id: number, tool = "a"): Try => ({ id: String(id), tool, args: "{}", at: id, end: "running" });
const ids = (tries: readonly Try[]) => tries.map(({ id }) => Number(id));

describe("what was tried", () => {
  it("is newest first, and twenty of each tool", () => {
    let tries: readonly Try[] = [one(100, "b")];
    for (let id = 0; id < 25; id += 1) tries = withTry(tries, one(id));
    expect(ids(tries).slice(0, 2)).toEqual([24, 23]);
    expect(tries.filter(({ tool }) => tool === "a")).toHaveLength(20);
    expect(ids(tries)).toContain(100);
  });

  it("ends once", () => {
    const stopped = ended([one(1), one(2)], "1", "stopped");
    expect(stopped.map(({ end }) => end)).toEqual(["stopped", "running"]);
    expect(ended(stopped, "1", "running")).toEqual(stopped);
    expect(ended(stopped, "1", { problem: { code: "internal", message: "", cause: null, hint: null } })).toEqual(
      stopped,
    );
  });

  it("is one line", () => {
    expect(brief('{\n  "a": 1\n}')).toBe('{ "a": 1 }');
    expect(brief("x".repeat(500))).toHaveLength(120);
  });
});
