import { expect, test } from "./base.ts";

test("the pages have the content security policy of the windows, and only they get in", async ({ gatehouse, main }) => {
  const response = await main.request.get(gatehouse.address);
  const policy = response.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("style-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  const foreign = await main.request.post(`${gatehouse.address}/door/command`, {
    headers: { origin: "http://evil.example" },
    data: { name: "status", args: {} },
  });
  expect(foreign.status()).toBe(403);
  await expect(gatehouse.command("call", { token: "t", tool: "x", arguments: "{}" })).rejects.toThrow("calls no tool");
});

test("the frame shows where the gateway is, pauses and resumes, and is there by keyboard", async ({ gatehouse, main }) => {
  await expect(main.getByText(gatehouse.endpoint)).toBeVisible();
  await main.getByRole("button", { name: "Pause everything" }).click();
  await expect(main.getByText("Everything is paused: no call goes through.")).toBeVisible();
  expect((await gatehouse.command("status", {})).paused).toBe(true);
  await main.getByRole("banner").getByRole("button", { name: "Resume" }).click();
  await expect(main.getByRole("button", { name: "Pause everything" })).toBeVisible();
  await main.keyboard.press("Control+2");
  await expect(main.getByRole("heading", { level: 1, name: "Approvals" })).toBeVisible();
  await main.keyboard.press("Control+k");
  await main.getByPlaceholder("Search or jump to…").fill("clients");
  await main.keyboard.press("Enter");
  await expect(main.getByRole("heading", { level: 1, name: "Clients" })).toBeVisible();
});
