import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { GrantChoice, PendingApproval } from "../../ui/src/generated/types.ts";
import { expect, test } from "./base.ts";

test("the pages have the content security policy of the windows, and only they get in", async ({ gatehouse, main }) => {
  const config = JSON.parse(readFileSync(join(import.meta.dirname, "../../src-tauri/tauri.conf.json"), "utf8")) as {
    app: { security: { csp: Record<string, string> } };
  };
  const ofWindows = { ...config.app.security.csp, "connect-src": "'self'" };
  for (const page of ["/", "/prompt.html"]) {
    const served = (await main.request.get(gatehouse.address + page)).headers()["content-security-policy"] ?? "";
    const rules = served
      .split("; ")
      .map((rule) => [rule.slice(0, rule.indexOf(" ")), rule.slice(rule.indexOf(" ") + 1)]);
    expect(Object.fromEntries(rules)).toEqual(ofWindows);
  }
  const status = { data: { name: "status", args: {} } };
  const address = `${gatehouse.address}/host/command`;
  expect((await main.request.post(address, status)).status()).toBe(200);
  for (const origin of ["http://evil.example", "null", "http://127.0.0.1:1"]) {
    expect((await main.request.post(address, { ...status, headers: { origin } })).status(), origin).toBe(403);
  }
  for (const host of ["evil.example", `localhost:${new URL(gatehouse.address).port}`]) {
    expect((await main.request.post(address, { ...status, headers: { host } })).status(), host).toBe(403);
    expect((await main.request.get(gatehouse.address, { headers: { host } })).status(), host).toBe(403);
  }
  await expect(gatehouse.command("call", { token: "t", tool: "x", arguments: "{}" })).rejects.toThrow(
    "error.desktop.noToolCalls",
  );
  await expect(gatehouse.send("prompt_everything", {})).rejects.toThrow("There is no command prompt_everything");
});

for (const revision of ["2026-07-28", "2025-11-25"] as const) {
  test(`a client of revision ${revision} asks, is allowed, and gets the fixture server's answer`, async ({
    gatehouse,
  }) => {
    await gatehouse.addFixture("Fixture");
    const client = await gatehouse.connect("Claude Code", revision);
    const call = client.call("echo", { said: revision });
    let pending: PendingApproval[] = [];
    const waiting = async () =>
      (pending = (await gatehouse.send("prompt_pending", { known: [] })) as PendingApproval[]).length;
    await expect.poll(waiting).toBe(1);
    const choice: GrantChoice = { lifetime: "once", width: "call", everyClient: false, conditions: [] };
    const answers = pending.map(({ id, request }) => {
      if (request.kind !== "call") throw new Error(request.kind);
      return { id, hash: request.hash, answer: { answer: "allow" as const, choice } };
    });
    // The shell refuses answers until its prompt has been shown for half a second.
    await expect(async () => {
      await gatehouse.send("prompt_answer", { answers });
    }).toPass();
    const answer = await call;
    expect(answer.isError).toBeFalsy();
    expect(JSON.stringify(answer)).toContain(revision);
    expect(await waiting()).toBe(0);
  });
}

test("the frame shows where the gateway is, pauses and resumes, and is there by keyboard", async ({
  gatehouse,
  main,
}) => {
  await expect(main.getByText(gatehouse.endpoint)).toBeVisible();
  await main.getByRole("button", { name: "Pause everything" }).click();
  await expect(main.getByText("Everything is paused: calls are refused.")).toBeVisible();
  expect((await gatehouse.command("status", {})).paused).toBe(true);
  await main.getByRole("banner").getByRole("button", { name: "Resume" }).click();
  await expect(main.getByRole("button", { name: "Pause everything" })).toBeVisible();
  await main.keyboard.press("Control+3");
  await expect(main.getByRole("heading", { level: 1, name: "Approvals" })).toBeVisible();
  await main.keyboard.press("Control+k");
  await main.getByPlaceholder("Search or jump to…").fill("clients");
  await main.keyboard.press("Enter");
  await expect(main.getByRole("heading", { level: 1, name: "Clients" })).toBeVisible();
});
