import { describe, expect, it } from "vitest";

import type { CallRecord } from "../generated/types";
import { noNames, withGone, withRecorded } from "./recordedNames";

const call = (server: string, client: string) =>
  ({ server, serverName: `Server ${server}`, client, clientName: `Client ${client}` }) as CallRecord;

describe("the names of listed calls", () => {
  it("gathers servers and clients, and stays the same where nothing is new", () => {
    const first = withRecorded(noNames, [call("a", "x"), call("b", "x")]);
    expect([...first.servers]).toEqual([
      ["a", "Server a"],
      ["b", "Server b"],
    ]);
    expect([...first.clients]).toEqual([["x", "Client x"]]);
    expect(withRecorded(first, [call("b", "x")])).toBe(first);
    expect([...withRecorded(first, [call("b", "y")]).clients.keys()]).toEqual(["x", "y"]);
    expect([...withRecorded(first, [call("b", "y")]).servers.keys()]).toEqual(["a", "b"]);
  });

  it("adds what is gone after what there is, under its present name", () => {
    const recorded = new Map([
      ["a", "Old name"],
      ["gone", "Gone"],
    ]);
    expect(withGone([["a", "New name"]], recorded)).toEqual([
      ["a", "New name"],
      ["gone", "Gone"],
    ]);
  });
});
