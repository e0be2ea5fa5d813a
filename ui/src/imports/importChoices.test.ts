import { describe, expect, it } from "vitest";

import type { ImportCandidate, ServerId } from "../generated/types";
import {
  initialDecisions,
  inputsOf,
  isIncomplete,
  pickedServers,
  secretCount,
  toImportChoices,
  withAllTicked,
  withChoice,
  withTick,
} from "./importChoices";

function candidate(index: number, part: Partial<ImportCandidate> = {}): ImportCandidate {
  return {
    index,
    name: `server ${String(index)}`,
    project: null,
    summary: "npx x",
    settings: [],
    enabled: true,
    secrets: [],
    hasPlainSecret: false,
    inputs: [],
    autoApprove: null,
    leftOut: [],
    conflict: null,
    problems: [],
    ...part,
  };
}

const conflict = (isSame: boolean) => ({ server: "srv-1" as ServerId, isSame, freeName: "free 2" });
const input = (id: string, usual: string | null) => ({
  id,
  description: null,
  isSecret: false,
  default: usual,
  hasDefault: usual !== null,
  options: [],
});

describe("choices of an import", () => {
  const fresh = candidate(0);
  const taken = candidate(1, { conflict: conflict(false) });
  const same = candidate(2, { conflict: conflict(true) });
  const broken = candidate(3, { problems: [{ key: "x", params: {} }] });
  const all = [fresh, taken, same, broken];

  it("begin with what is new", () => {
    const decisions = initialDecisions(all);
    expect(pickedServers(decisions, all)).toEqual([fresh]);
    expect(toImportChoices(decisions, all)).toEqual([
      { index: 0, action: "add", keepPlain: false, autoApprove: false, inputs: [] },
    ]);
  });

  it("rename what is ticked although its name is taken", () => {
    const decisions = withTick(initialDecisions(all), taken, true);
    expect(toImportChoices(decisions, [taken])[0]?.action).toEqual({ rename: "free 2" });
    expect(toImportChoices(withChoice(decisions, taken, { plan: "overwrite" }), [taken])[0]?.action).toBe("overwrite");
    expect(pickedServers(withTick(decisions, taken, false), all)).toEqual([fresh]);
  });

  it("tick all but what is here or can't be imported", () => {
    const decisions = withAllTicked(initialDecisions(all), all, true);
    expect(pickedServers(decisions, all)).toEqual([fresh, taken]);
    expect(pickedServers(withAllTicked(decisions, all, false), all)).toEqual([]);
  });

  it("keep a conflict's choice when all are ticked", () => {
    const decisions = withChoice(initialDecisions(all), taken, { plan: "overwrite" });
    expect(toImportChoices(withAllTicked(decisions, all, true), [taken])[0]?.action).toBe("overwrite");
  });

  it("are incomplete without the values of inputs and new names", () => {
    const asking = candidate(4, { inputs: [input("a", null), input("b", "usual")] });
    const again = candidate(5, { inputs: [input("a", null)] });
    const decisions = initialDecisions([asking, again]);
    expect(inputsOf([asking, again]).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(isIncomplete(decisions, [asking])).toBe(true);
    const entered = { ...decisions, inputs: new Map([["a", "1"]]) };
    expect(isIncomplete(entered, [asking, again])).toBe(false);
    expect(toImportChoices(entered, [asking])[0]?.inputs).toEqual([
      { id: "a", value: "1" },
      { id: "b", value: "usual" },
    ]);
    const hidden = candidate(8, { inputs: [{ ...input("c", null), isSecret: true, hasDefault: true }] });
    expect(isIncomplete(initialDecisions([hidden]), [hidden])).toBe(false);
    expect(isIncomplete(withChoice(decisions, taken, { plan: "rename", newName: " " }), [taken])).toBe(true);
  });

  it("allow without asking only what the other application allowed", () => {
    const allowing = candidate(6, { autoApprove: { tools: ["read"] } });
    for (const [one, wanted] of [
      [allowing, true],
      [fresh, false],
    ] as const) {
      const decisions = withChoice(initialDecisions([one]), one, { autoApprove: true });
      expect(toImportChoices(decisions, [one])[0]?.autoApprove).toBe(wanted);
    }
  });

  it("count secrets and leave them in plain text only on request", () => {
    const secret = candidate(7, { secrets: ["env/A", "env/B"] });
    expect(secretCount([secret, fresh])).toBe(2);
    const plain = { ...initialDecisions([secret]), toKeychain: false };
    expect(toImportChoices(plain, [secret])[0]?.keepPlain).toBe(true);
  });
});
