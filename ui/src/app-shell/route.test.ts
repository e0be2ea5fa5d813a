import { describe, expect, it } from "vitest";

import { format, parse, type Route } from "./route";

describe("a route", () => {
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

  it.each(routes)("comes back from its hash: %j", (route) => {
    expect(parse(format(route))).toEqual(route);
  });

  it.each(["", "#", "#/nowhere", "#/%E0%A4%A"])("is the servers where the hash %j says nothing", (hash) => {
    expect(parse(hash)).toEqual({ page: "servers" });
  });
});
