import { describe, expect, it } from "vitest";

import type { LogLine } from "../generated/types";
import { filterLines, firstFrom, groupRepeats, isAround, levels, logText, toneOfLevel, type LogFilter } from "./logs";

const lines: LogLine[] = [
  { at: 1, source: "stderr", level: null, text: "Starting up" },
  { at: 2, source: "server", level: "debug", text: "cache warm" },
  { at: 3, source: "server", level: "warning", text: "Slow answer" },
  { at: 4, source: "gatehouse", level: "error", text: "It closed: exit code 1" },
];
const all: LogFilter = { words: "", source: null, level: null };

describe("log lines", () => {
  it.each<[Partial<LogFilter>, number[]]>([
    [{}, [1, 2, 3, 4]],
    [{ words: " slow " }, [3]],
    [{ words: "nothing" }, []],
    [{ source: "server" }, [2, 3]],
    [{ source: "stderr" }, [1]],
    [{ level: "debug" }, [2, 3, 4]],
    [{ level: "warning" }, [3, 4]],
    [{ level: "emergency" }, []],
    [{ source: "server", level: "info", words: "s" }, [3]],
  ])("%j", (filter, shown) => {
    expect(filterLines(lines, { ...all, ...filter }).map(({ at }) => at)).toEqual(shown);
  });

  it("name their server when they are copied", () => {
    const [line] = lines;
    expect(line && logText("files", line)).toBe("1970-01-01T00:00:00.001Z\tfiles\tstderr\t\tStarting up");
  });

  it("have a tone by level", () => {
    expect(levels.map(toneOfLevel)).toEqual(["off", "plain", "plain", "wait", "bad", "bad", "bad", "bad"]);
  });

  it("collapse consecutive repeats with a count", () => {
    const said = (at: number, text: string, level: LogLine["level"] = "error"): LogLine => ({
      at,
      source: "server",
      level,
      text,
    });
    const all = [said(1, "a"), said(2, "a"), said(3, "a"), said(4, "a", "info"), said(5, "b"), said(6, "a")];
    expect(groupRepeats(all).map(({ line, count, since }) => [line.at, line.text, count, since])).toEqual([
      [3, "a", 3, 1],
      [4, "a", 1, 4],
      [5, "b", 1, 5],
      [6, "a", 1, 6],
    ]);
  });

  it.each([
    [0, 0],
    [15_000, 1],
    [19_000, 1],
    [99_000, 2],
  ])("are shown from the moment %d on: group %d", (time, wanted) => {
    const said = (at: number): LogLine => ({ at, source: "stderr", level: null, text: String(at) });
    const groups = groupRepeats([said(1000), said(14_000), said(40_000)]);
    expect(firstFrom(groups, time)).toBe(wanted);
    expect(firstFrom([], time)).toBe(-1);
    expect([said(time - 5000), said(time + 5000), said(time + 5001)].map((line) => isAround(line, time))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("are filtered and grouped quickly in the tens of thousands", () => {
    const many = Array.from({ length: 10_000 }, (_, at): LogLine => ({
      at,
      source: "stderr",
      level: "info",
      text: `line ${String(at)}`,
    }));
    expect(filterLines(many, { ...all, words: "line 9", level: "info" })).toHaveLength(1111);
  });
});
