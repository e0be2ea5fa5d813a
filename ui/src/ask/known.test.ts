import { describe, expect, it } from "vitest";

import type { PendingAsk } from "../gen/types";
import { someAsk } from "./example";
import { knownArguments } from "./known";

const bare = (pending: PendingAsk): PendingAsk => (pending.ask.ask === "call" ? { ...pending, ask: { ...pending.ask, arguments: [] } } : pending);

describe("arguments that were read once", () => {
  it("stand in for those that are left out", () => {
    const known = knownArguments();
    const [a, b] = [someAsk("a"), someAsk("b", { arguments: [] })];
    expect(known.hashes()).toEqual([]);
    known.filled([a, b]);
    expect(known.hashes()).toEqual(["hash-a", "hash-b"]);
    expect(known.filled([bare(a), bare(b), someAsk("c")])).toEqual([a, b, someAsk("c")]);
  });

  it("are those of the very call: another hash has its own", () => {
    const known = knownArguments();
    known.filled([someAsk("a")]);
    const other = someAsk("a", { hash: "other", arguments: [{ name: "path", text: '"/etc"', masked: false }] });
    expect(known.filled([other])).toEqual([other]);
  });

  it("are forgotten with their question", () => {
    const known = knownArguments();
    known.filled([someAsk("a")]);
    known.filled([]);
    expect(known.hashes()).toEqual([]);
  });
});
