import { describe, expect, it } from "vitest";

import { formatRoute, parseRoute, type Route } from "./route";

describe("routes", () => {
  const routes: Route[] = [
    { page: "servers" },
    { page: "server", id: "srv_1/ä", tab: "logs" },
    { page: "server", id: "s", tab: "resources" },
    { page: "server", id: "s", tab: "activity" },
    { page: "server", id: "s", tab: "settings", at: "sign-in" },
    { page: "approvals" },
    { page: "permissions" },
    { page: "activity", view: "calls" },
    { page: "activity", view: "events" },
    { page: "clients" },
    { page: "settings" },
  ];

  it.each(routes)("round-trip through their hash: %j", (route) => {
    expect(parseRoute(formatRoute(route))).toEqual(route);
  });

  it.each(["", "#", "#/nowhere", "#/%E0%A4%A"])("fall back to the servers page for the hash %j", (hash) => {
    expect(parseRoute(hash)).toEqual({ page: "servers" });
  });
});
