import { describe, expect, it } from "vitest";

import type { LogLine } from "../gen/types";
import { levels, linesThat, toneOfLevel, type LogFilter } from "./logs";

const lines: LogLine[] = [
  { at: 1, source: "stderr", level: null, text: "Starting up" },
  { at: 2, source: "server", level: "debug", text: "cache warm" },
  { at: 3, source: "server", level: "warning", text: "Slow answer" },
  { at: 4, source: "gatehouse", level: "error", text: "It closed: exit code 1" },
];
const all: LogFilter = { words: "", source: null, level: null };

describe("the lines of a log", () => {
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
    expect(linesThat(lines, { ...all, ...filter }).map(({ at }) => at)).toEqual(shown);
  });

  it("are the worse the further the level", () => {
    expect(levels.map(toneOfLevel)).toEqual(["off", "plain", "plain", "wait", "bad", "bad", "bad", "bad"]);
  });

  it("are ten thousand without a pause", () => {
    const many = Array.from({ length: 10_000 }, (_, at): LogLine => ({ at, source: "stderr", level: "info", text: `line ${String(at)}` }));
    expect(linesThat(many, { ...all, words: "line 9", level: "info" })).toHaveLength(1111);
  });
});
