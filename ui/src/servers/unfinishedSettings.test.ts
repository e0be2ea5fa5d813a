import { expect, it } from "vitest";

import type { ServerConfig } from "../generated/types";
import { defaultLimits } from "./serverForm";
import { keepUnfinishedJson, unfinishedJson } from "./unfinishedSettings";

const config = (more: Partial<ServerConfig>) =>
  ({
    id: "srv-1",
    name: "Clock",
    generation: 1,
    transport: { type: "builtin", builtin: { kind: "time" } },
    protocolVersion: "auto",
    enabled: true,
    autostart: true,
    recordBodies: true,
    look: { description: null, icon: null, group: null },
    limits: defaultLimits,
    ...more,
  }) as ServerConfig;

it("is there again only for the settings that it was begun with", () => {
  keepUnfinishedJson(config({}), "{}");
  expect(unfinishedJson(config({}))).toBe("{}");
  expect(unfinishedJson(config({ id: "srv-2" }))).toBeNull();
  expect(unfinishedJson(config({ generation: 2 }))).toBeNull();
  expect(unfinishedJson(config({ name: "Other" }))).toBeNull();
  keepUnfinishedJson(config({}), null);
  expect(unfinishedJson(config({}))).toBeNull();
});
