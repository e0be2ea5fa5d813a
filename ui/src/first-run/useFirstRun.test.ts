import { expect, test } from "vitest";

import type { ServerView } from "../generated/types";
import { isUnused } from "./useFirstRun";

const server = (type: string) => ({ config: { transport: { type } } }) as ServerView;

test.each([
  [["builtin", "builtin"], 0, true],
  [[], 0, true],
  [["builtin", "stdio"], 0, false],
  [["http"], 0, false],
  [["builtin"], 1, false],
])("servers %j and %d clients: unused is %s", (types, clients, expected) => {
  expect(isUnused(types.map(server), clients)).toBe(expected);
});
