import { describe, expect, it } from "vitest";

import type { UserError } from "../generated/types";
import { addRun, endRun, type ToolRun } from "./userRuns";

const error = { code: "internal" } as unknown as UserError;
const run = (id: string, end: ToolRun["end"] = { error }): ToolRun => ({
  id,
  server: "s",
  tool: "t",
  client: null,
  args: "{}",
  at: 0,
  isCancelled: false,
  end,
});

describe("runs", () => {
  it("are newest first, and the oldest that have ended make way", () => {
    let runs: readonly ToolRun[] = [run("long", "running")];
    for (let number = 0; number < 30; number += 1) runs = addRun(runs, run(String(number)));
    expect(runs).toHaveLength(21);
    expect(runs[0]?.id).toBe("29");
    expect(runs.at(-1)?.id).toBe("long");
  });

  it("end once", () => {
    const ended = endRun([run("a", "running"), run("b", "running")], "a", { error });
    expect(ended.map(({ end }) => end)).toEqual([{ error }, "running"]);
    expect(endRun(ended, "a", "running")[0]?.end).toEqual({ error });
  });
});
