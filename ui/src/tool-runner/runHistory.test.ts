import { describe, expect, it } from "vitest";

import { addRun, argumentsLine, endRun, type ToolRun } from "./runHistory";

const one = (id: number, tool = "a"): ToolRun => ({ id: String(id), tool, args: "{}", at: id, end: "running" });
const ids = (runs: readonly ToolRun[]) => runs.map(({ id }) => Number(id));

describe("the run history", () => {
  it("is newest first, with twenty runs of each tool", () => {
    let runs: readonly ToolRun[] = [one(100, "b")];
    for (let id = 0; id < 25; id += 1) runs = addRun(runs, one(id));
    expect(ids(runs).slice(0, 2)).toEqual([24, 23]);
    expect(runs.filter(({ tool }) => tool === "a")).toHaveLength(20);
    expect(ids(runs)).toContain(100);
  });

  it("sets an outcome once", () => {
    const stopped = endRun([one(1), one(2)], "1", "stopped");
    expect(stopped.map(({ end }) => end)).toEqual(["stopped", "running"]);
    expect(endRun(stopped, "1", "running")).toEqual(stopped);
    expect(endRun(stopped, "1", { error: { code: "internal", message: "", cause: null, hint: null } })).toEqual(
      stopped,
    );
  });

  it("shows arguments in one line", () => {
    expect(argumentsLine('{\n  "a": 1\n}')).toBe('{ "a": 1 }');
    expect(argumentsLine("x".repeat(500))).toHaveLength(120);
  });
});
