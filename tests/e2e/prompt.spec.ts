import { expect, noViolations, pictures, test } from "./base.ts";

const text = (answer: { content: { text?: string }[] }) => answer.content.map((block) => block.text).join("\n");

test("a question shows the whole arguments, and allow once lets the call through", async ({ gatehouse, prompt }) => {
  await gatehouse.addFiles("files");
  const client = await gatehouse.connect("Claude Code");
  const path = `${gatehouse.folder}/todo.md`;
  const call = client.call("write_file", { path, content: "- buy milk\n- call Bo" });
  const card = prompt.getByRole("article");
  await expect(card.getByRole("heading", { name: "Claude Code wants to use Write File of files" })).toBeVisible();
  await expect(card).toContainText(path);
  await expect(card).toContainText("- call Bo");
  await expect(card).toContainText("Changes things");
  await expect(card).toContainText("First use of this tool");
  await expect(card.getByRole("timer")).toContainText("Claude Code waits 0:");
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt", [{ width: 440, height: 420 }]);
  await prompt.getByRole("button", { name: "Allow once" }).click();
  await expect(prompt.getByText("Allowed")).toBeVisible();
  expect((await call).isError).toBeFalsy();
});

test("a denial carries its reason to the model", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  await prompt.getByRole("button", { name: "More ways to deny" }).click();
  await prompt.getByLabel("Reason, for the model to read").fill("Use your own clock");
  await noViolations(prompt);
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  const answer = await call;
  expect(answer.isError).toBe(true);
  expect(text(answer)).toContain("Use your own clock");
  await expect(prompt.getByText("Denied")).toBeVisible();
});

test("buttons sleep when a question comes; Enter decides nothing; keys answer", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  const once = prompt.getByRole("button", { name: "Allow once" });
  // Clicked in the very moment in which it appears.
  await prompt.evaluate(
    () =>
      new Promise<void>((done) => {
        const look = () => {
          const button = [...document.querySelectorAll("button")].find((it) => it.textContent === "Allow once");
          if (!button) return void requestAnimationFrame(look);
          if (button.getAttribute("aria-disabled") !== "true") throw new Error("it is awake");
          button.click();
          done();
        };
        look();
      }),
  );
  await expect(once).toBeVisible();
  await expect(once).toHaveAttribute("aria-disabled", "false");
  await expect(prompt.getByRole("heading", { level: 2 })).toBeFocused();
  await prompt.keyboard.press("Enter");
  expect(await gatehouse.command("approvals.list", {})).toHaveLength(1);
  await prompt.keyboard.press("Control+Enter");
  expect((await call).isError).toBeFalsy();

  const other = client.call("current_time", { timezone: "Europe/Vienna" });
  await prompt.keyboard.press("ArrowRight");
  await expect(prompt.getByRole("article")).toContainText("Europe/Vienna");
  await expect(once).toHaveAttribute("aria-disabled", "false");
  await prompt.keyboard.press("Control+Backspace");
  expect((await other).isError).toBe(true);
});

test("a call that is cancelled leaves a tombstone, and the next one does not slide in", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const other = await gatehouse.connect("Zed");
  const leave = new AbortController();
  const gone = client.call("current_time", { timezone: "Asia/Tokyo" }, leave.signal).catch(() => null);
  await expect(prompt.getByRole("article")).toContainText("Asia/Tokyo");
  const stays = other.call("current_time", { timezone: "Europe/Vienna" });
  await expect(prompt.getByText("1 of 2")).toBeVisible();
  leave.abort();
  await gone;
  // It stays as a ticket for the next identical call.
  await expect(prompt.getByRole("button", { name: "Allow the next identical call" })).toBeVisible();
  const [first] = await gatehouse.command("approvals.list", {});
  if (first?.ask.ask !== "call") throw new Error("no question");
  const choice = { lifetime: "once", width: "call", everyClient: false, conditions: [] } as const;
  await gatehouse.command("approvals.answer", {
    answers: [{ id: first.id, hash: first.ask.hash, answer: { answer: "deny", choice: { ...choice, conditions: [] }, reason: null } }],
  });
  await expect(prompt.getByText("This question is over")).toBeVisible();
  await expect(prompt.getByRole("article")).not.toContainText("Europe/Vienna");
  await prompt.getByRole("button", { name: "Next question" }).click();
  await expect(prompt.getByRole("article")).toContainText("Europe/Vienna");
  await prompt.getByRole("button", { name: "Allow once" }).click();
  expect((await stays).isError).toBeFalsy();
});

test("many at once: n of m, back and forth, and all of a group in one answer", async ({ gatehouse, prompt, main }) => {
  const client = await gatehouse.connect("Claude Code");
  const zones = ["Asia/Tokyo", "Europe/Vienna", "America/Lima"];
  const calls = [];
  for (const [at, timezone] of zones.entries()) {
    calls.push(client.call("current_time", { timezone }));
    await expect.poll(async () => (await gatehouse.command("approvals.list", {})).length).toBe(at + 1);
  }
  await expect(prompt.getByText("1 of 3")).toBeVisible();
  await prompt.keyboard.press("ArrowRight");
  await expect(prompt.getByText("2 of 3")).toBeVisible();
  await expect(prompt.getByRole("article")).toContainText("Europe/Vienna");
  await prompt.keyboard.press("ArrowLeft");
  await expect(prompt.getByRole("article")).toContainText("Asia/Tokyo");
  await expect(prompt.getByText("3 calls of this tool wait")).toBeVisible();
  await pictures(gatehouse, prompt, "prompt-queue", [{ width: 440, height: 420 }]);

  await expect(main.getByLabel("3 waiting")).toBeVisible();
  await main.getByRole("link", { name: "Approvals" }).click();
  await expect(main.getByRole("article")).toHaveCount(3);
  await noViolations(main);
  await pictures(gatehouse, main, "approvals");
  await main.getByRole("button", { name: "Allow all 3 once" }).first().click();
  for (const call of calls) expect((await call).isError).toBeFalsy();
  await expect(prompt.getByText("This question is over")).toBeVisible();
});

test("what lasts is said in one sentence with the real names, and holds", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  await prompt.getByRole("button", { name: "More ways to allow" }).click();
  await prompt.getByLabel("Always").check();
  await prompt.getByLabel("For every client, not only Claude Code").check();
  await expect(prompt.getByText("Always allow Time: Current time, for every client")).toBeVisible();
  await noViolations(prompt);
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await prompt.screenshot({ path: `${shots}/prompt-lasting.png` });
  await prompt.getByRole("button", { name: "Always allow Time: Current time, for every client" }).click();
  expect((await call).isError).toBeFalsy();
  expect((await client.call("current_time", { timezone: "Asia/Tokyo" })).isError).toBeFalsy();
  const { rules } = await gatehouse.command("policy.show", {});
  expect(rules.map(({ sentence }) => sentence)).toEqual(["Always allow Time: current_time for every client"]);
});

test("secrets are masked, hidden characters are seen, and always is not offered then", async ({ gatehouse, prompt }) => {
  await gatehouse.command("policy.show", {});
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("add_note", { text: "evil\u202Etxt", api_key: "sk-live-0123456789abcdefghij" });
  await expect(prompt.getByText("U+202E")).toBeVisible();
  await expect(prompt.getByText("A secret is hidden")).toBeVisible();
  await expect(prompt.getByRole("article")).not.toContainText("0123456789abcdefghij");
  await expect(prompt.getByText("“Always” is not offered while this is so.")).toBeVisible();
  await prompt.getByRole("button", { name: "More ways to allow" }).click();
  await expect(prompt.getByLabel("Always")).toHaveCount(0);
  await prompt.getByRole("button", { name: "Back" }).click();
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

test("five megabytes of arguments are all there and scroll", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const lines = Array.from({ length: 100_000 }, (_, at) => `line ${String(at)} of a text that is rather long`);
  const call = client.call("add_note", { text: `${lines.join("\n")}\nthe very end` });
  const area = prompt.getByRole("group", { name: "Arguments" });
  await expect(area).toContainText("line 0 of");
  const worst = await area.evaluate(async (element) => {
    let longest = 0;
    const frame = () => new Promise<number>((done) => requestAnimationFrame(done));
    let before = await frame();
    for (let step = 1; step <= 60; step += 1) {
      element.scrollTop = (element.scrollHeight * step) / 60;
      const now = await frame();
      longest = Math.max(longest, now - before);
      before = now;
    }
    return longest;
  });
  expect(worst).toBeLessThan(400);
  await area.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
  });
  await expect(area).toContainText("the very end");
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

test("a tool that is not what was allowed asks again, and shows field by field what changed", async ({ gatehouse, prompt }) => {
  await gatehouse.addFixture("fixture", "--fault", "changes-tools");
  const always = { lifetime: "always", width: "tool", everyClient: true, conditions: [] } as const;
  for (const tool of ["echo", "mutate"]) {
    await gatehouse.command("policy.grant", { server: "fixture", tool, client: null, choice: { ...always, conditions: [] } });
  }
  const client = await gatehouse.connect("Claude Code");
  expect((await client.call("echo", {})).isError).toBeFalsy();
  const before = (await gatehouse.command("tools.list", { server: "fixture" })).find((tool) => tool.name === "echo")?.description;
  await client.call("mutate", {});
  // The server says that its list changed; Gatehouse reads it again after a moment.
  const description = async () => (await gatehouse.command("tools.list", { server: "fixture" })).find((tool) => tool.name === "echo")?.description;
  await expect.poll(description).not.toBe(before);
  const call = client.call("echo", {});
  await expect(prompt.getByRole("heading", { name: "What changed" })).toBeVisible();
  await expect(prompt.getByText("Its definition is not the one that you allowed")).toBeVisible();
  await noViolations(prompt);
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await prompt.screenshot({ path: `${shots}/prompt-changed.png` });
  await prompt.getByRole("button", { name: "More ways to allow" }).click();
  await expect(prompt.getByLabel("Always")).toHaveCount(0);
  await prompt.getByRole("button", { name: "Back" }).click();
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

for (const [also, sentence] of [
  ["Block Time: Current time until I unblock it", "Always refuse Time: current_time, for every client"],
  ["Refuse everything from Claude Code until Gatehouse quits", "Refuse everything on every server until Gatehouse quits, for Claude Code"],
] as const) {
  test(`a denial can go on: ${also}`, async ({ gatehouse, prompt, main }) => {
    const client = await gatehouse.connect("Claude Code");
    const call = client.call("current_time", {});
    await prompt.getByRole("button", { name: "More ways to deny" }).click();
    await prompt.getByLabel(also).check();
    await prompt.getByRole("button", { name: "Deny", exact: true }).click();
    expect((await call).isError).toBe(true);
    const again = await client.call("current_time", { timezone: "Asia/Tokyo" });
    expect(again.isError).toBe(true);
    expect(await gatehouse.command("approvals.list", {})).toEqual([]);
    await main.getByRole("link", { name: "Settings" }).click();
    await expect(main.getByText(sentence)).toBeVisible();
  });
}
