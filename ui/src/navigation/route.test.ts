import { describe, expect, it } from "vitest";

import { formatRoute, parseRoute, type Route } from "./route";

describe("routes", () => {
  const routes: Route[] = [
    { page: "overview" },
    { page: "servers" },
    { page: "server", id: "srv_1/ä", tab: "logs" },
    { page: "server", id: "s", tab: "logs", time: 1_700_000_000_000 },
    { page: "server", id: "s", tab: "resources" },
    { page: "server", id: "s", tab: "activity" },
    { page: "server", id: "s", tab: "settings", at: "sign-in" },
    { page: "server", id: "s", tab: "settings", at: "update" },
    { page: "approvals" },
    { page: "permissions" },
    { page: "activity", view: "calls" },
    { page: "activity", view: "events" },
    { page: "clients" },
    { page: "playground" },
    { page: "playground", server: "srv_1", kind: "tool", item: "a/b?c&d#e ä", client: "cli-1" },
    { page: "playground", server: "srv_1", kind: "resource", item: "file:///a%20b?x=1#y" },
    { page: "playground", call: { at: 1_700_000_000_000, id: "call-1" } },
    { page: "chat" },
    { page: "chat", conversation: "conv_1/ä" },
    { page: "settings" },
    { page: "settings", at: "models" },
    { page: "welcome" },
  ];

  it.each(routes)("round-trip through their hash: %j", (route) => {
    expect(parseRoute(formatRoute(route))).toEqual(route);
  });

  it.each(["#/playground?kind=nothing", "#/playground?call=c&at=soon", "#/playground?other=1"])(
    "leave out what is unknown in the hash %j",
    (hash) => {
      expect(parseRoute(hash)).toEqual({ page: "playground" });
    },
  );

  it.each(["", "#", "#/nowhere", "#/%E0%A4%A"])("fall back to the servers page for the hash %j", (hash) => {
    expect(parseRoute(hash)).toEqual({ page: "servers" });
  });
});
