// @vitest-environment node
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import manifest from "../../package.json";
import { errorReport } from "./errorReport";

test("says everything that is known, in English", async () => {
  const message = { key: "error.app.noServer", params: { name: { text: "x" } } };
  const hint = { key: "error.app.noServerHint", params: {} };
  expect(await errorReport({ code: "not_found", message, cause: "No disk.", hint }, "Linux")).toBe(
    [
      `Gatehouse ${manifest.version}, Linux`,
      "Code: not_found",
      "Error: There's no server “x”.",
      "Cause: No disk.",
      "Hint: See all servers with `gatehousectl servers list`.",
    ].join("\n"),
  );
  expect(await errorReport({ code: "internal", message: "It broke.", cause: null, hint: "" }, "Linux")).toBe(
    `Gatehouse ${manifest.version}, Linux\nCode: internal\nError: It broke.`,
  );
});

test("names the version of the program", () => {
  const workspace = readFileSync(resolve(import.meta.dirname, "../../../Cargo.toml"), "utf8");
  expect(/^version = "(.+)"$/m.exec(workspace)?.[1]).toBe(manifest.version);
});
