import { describe, expect, it } from "vitest";

import { someAsk } from "../ask/example";
import type { Event } from "../gen/types";
import { patched } from "./patched";

const [a, b] = [someAsk("a"), someAsk("b")];
const changed = someAsk("a", {}, false);

describe("the questions that wait", () => {
  it.each<[string, Event, unknown]>([
    ["one more", { event: "approval_requested", pending: someAsk("c") }, [a, b, someAsk("c")]],
    ["one that was read already", { event: "approval_requested", pending: someAsk("a") }, [a, b]],
    ["one that changed", { event: "approval_changed", pending: changed }, [changed, b]],
    ["one that was answered", { event: "approval_resolved", ask: "a", allowed: true }, [b]],
    ["one that ended", { event: "approval_expired", ask: "b" }, [a]],
    ["one that ended before it was read", { event: "approval_expired", ask: "x" }, [a, b]],
    ["something else", { event: "pause_changed", paused: true }, null],
  ])("after %s", (_, event, expected) => {
    expect(patched([a, b], event)).toEqual(expected);
  });
});
