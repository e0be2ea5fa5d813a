import type { Response } from "@playwright/test";

import { expect, frames, noViolations, pictures, test } from "./base.ts";

const text = (answer: { content: { text?: string }[] }) => answer.content.map((block) => block.text).join("\n");

test("an approval request shows the whole arguments, and allow once lets the call through", async ({
  gatehouse,
  prompt,
}) => {
  await gatehouse.addFiles("files");
  const client = await gatehouse.connect("Claude Code");
  const path = `${gatehouse.folder}/todo.md`;
  const call = client.call("write_file", { path, content: "- buy milk\n- call Bo" });
  const card = prompt.getByRole("article");
  await expect(card.getByRole("heading", { name: "Claude Code wants to use Write File of files" })).toBeVisible();
  await expect(card).toContainText(path);
  await expect(card).toContainText("- call Bo");
  await expect(card).toContainText("Can make changes");
  await expect(card).toContainText("First use of this tool");
  await expect(card.getByRole("timer")).toContainText("Claude Code will wait 0:");
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt", [{ width: 440, height: 420 }]);
  await prompt.getByRole("button", { name: "Allow once" }).click();
  await expect(prompt.getByText("Allowed")).toBeVisible();
  expect((await call).isError).toBeFalsy();
});

test("a denial carries its reason to the model", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  await prompt.getByRole("button", { name: "More deny options" }).click();
  await prompt.getByLabel("Reason (the model will see this)").fill("Use your own clock");
  await noViolations(prompt);
  await prompt.getByRole("button", { name: "Deny this exact call" }).click();
  const answer = await call;
  expect(answer.isError).toBe(true);
  expect(text(answer)).toContain("Use your own clock");
  await expect(prompt.getByText("Denied")).toBeVisible();
});

test("buttons sleep when an approval request comes; Enter decides nothing; keys answer", async ({
  gatehouse,
  prompt,
}) => {
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
  expect(await gatehouse.command("approvals.list", { known: [] })).toHaveLength(1);
  await prompt.keyboard.press("Control+Enter");
  expect((await call).isError).toBeFalsy();

  const other = client.call("current_time", { timezone: "Europe/Vienna" });
  await prompt.keyboard.press("ArrowRight");
  await expect(prompt.getByRole("article")).toContainText("Europe/Vienna");
  await expect(once).toHaveAttribute("aria-disabled", "false");
  await prompt.keyboard.press("Control+Backspace");
  expect((await other).isError).toBe(true);
});

test("a call that is cancelled leaves a tombstone, and the next one does not slide in", async ({
  gatehouse,
  prompt,
}) => {
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
  const [first] = await gatehouse.command("approvals.list", { known: [] });
  if (first?.request.kind !== "call") throw new Error("no request");
  const choice = { lifetime: "once", width: "call", everyClient: false, conditions: [] } as const;
  await gatehouse.command("approvals.answer", {
    answers: [
      {
        id: first.id,
        hash: first.request.hash,
        answer: { answer: "deny", choice: { ...choice, conditions: [] }, reason: null },
      },
    ],
  });
  await expect(prompt.getByText("This request has ended")).toBeVisible();
  await expect(prompt.getByRole("article")).not.toContainText("Europe/Vienna");
  await prompt.getByRole("button", { name: "Next request" }).click();
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
    await expect.poll(async () => (await gatehouse.command("approvals.list", { known: [] })).length).toBe(at + 1);
  }
  await expect(prompt.getByText("1 of 3")).toBeVisible();
  await prompt.keyboard.press("ArrowRight");
  await expect(prompt.getByText("2 of 3")).toBeVisible();
  await expect(prompt.getByRole("article")).toContainText("Europe/Vienna");
  await prompt.keyboard.press("ArrowLeft");
  await expect(prompt.getByRole("article")).toContainText("Asia/Tokyo");
  await expect(prompt.getByText("3 calls of this tool are pending")).toBeVisible();
  await pictures(gatehouse, prompt, "prompt-queue", [{ width: 440, height: 420 }]);

  await expect(main.getByLabel("3 pending")).toBeVisible();
  await main.getByRole("link", { name: "Approvals" }).click();
  await expect(main.getByRole("article")).toHaveCount(3);
  await noViolations(main);
  await pictures(gatehouse, main, "approvals");
  await expect(main.getByRole("heading", { name: "Claude Code → Time" })).toBeVisible();
  await main.getByRole("button", { name: "Allow all 3 once: Current time" }).click();
  for (const call of calls) expect((await call).isError).toBeFalsy();
  await expect(prompt.getByText("This request has ended")).toBeVisible();
});

test("what lasts is said in one sentence with the real names, and holds", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  await prompt.getByRole("button", { name: "More allow options" }).click();
  await prompt.getByLabel("Always").check();
  await prompt.getByLabel("For every client, not just Claude Code").check();
  await expect(prompt.getByText("Always allow Time: current_time, for every client")).toBeVisible();
  await noViolations(prompt);
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await prompt.screenshot({ path: `${shots}/prompt-lasting.png` });
  await prompt.getByRole("button", { name: "Always allow Time: current_time, for every client" }).click();
  expect((await call).isError).toBeFalsy();
  expect((await client.call("current_time", { timezone: "Asia/Tokyo" })).isError).toBeFalsy();
  expect(await gatehouse.rules()).toEqual(["Always allow Time: current_time, for every client"]);
});

test("secrets are masked, hidden characters are seen, and always is not offered then", async ({
  gatehouse,
  prompt,
}) => {
  await gatehouse.command("policy.show", {});
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("add_note", { text: "evil\u202Etxt", api_key: "sk-live-0123456789abcdefghij" });
  await expect(prompt.getByText("U+202E")).toBeVisible();
  await expect(prompt.getByText("A secret is hidden")).toBeVisible();
  await expect(prompt.getByRole("article")).not.toContainText("0123456789abcdefghij");
  await expect(prompt.getByText("You can't choose “Always” because of this.")).toBeVisible();
  await prompt.getByRole("button", { name: "More allow options" }).click();
  await expect(prompt.getByLabel("Always")).toHaveCount(0);
  await prompt.getByRole("button", { name: "Back" }).click();
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

test("an edit is shown as a change, its parts fold by keyboard, and all of it is there as it is sent", async ({
  gatehouse,
  prompt,
}) => {
  await gatehouse.addFiles("files");
  const client = await gatehouse.connect("Claude Code");
  const edits = [{ oldText: "let x = 1;\nend", newText: "let x = 2;\u202e\nend" }];
  const call = client.call("edit_file", { path: `${gatehouse.folder}/a.js`, edits, dryRun: true });
  const change = prompt.getByRole("group", { name: "Change from oldText to newText" });
  await expect(change.locator("[data-kind=removed]")).toContainText("let x = 1;");
  await expect(change.locator("[data-kind=added]")).toContainText("let x = 2;U+202E");
  await expect(change.locator("[data-kind=kept]")).toContainText("end");
  await expect(change.locator("strong")).toHaveText(["1", "2", "U+202E"]);
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt-edit", [{ width: 440, height: 480 }]);
  const fold = prompt.locator("summary", { hasText: "1 item" });
  await fold.focus();
  await prompt.keyboard.press("Enter");
  await expect(change).toBeHidden();
  await prompt.keyboard.press("Enter");
  await expect(change).toBeVisible();
  await prompt.getByRole("button", { name: "Show as sent" }).click();
  await expect(change).toHaveCount(0);
  await expect(prompt.getByRole("group", { name: "Arguments" })).toContainText('"oldText":"let x = 1;');
  await expect(prompt.getByText("U+202E")).toBeVisible();
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

test("labels are trusted in place, the call is judged again there, and reads are allowed in one place", async ({
  gatehouse,
  prompt,
}) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("list_notes", {});
  const card = prompt.getByRole("article");
  await expect(card).toContainText("May make changes · the server says it only reads, and you don't trust its labels");
  await noViolations(prompt);
  await card.getByRole("button", { name: "Trust the read-only labels of Notes" }).click();
  await expect(card).toContainText("Read-only · the server says so, and you trust its labels");
  await card.getByRole("button", { name: "Stop trusting the read-only labels of Notes" }).click();
  await expect(card).toContainText("May make changes");
  await card.getByRole("button", { name: "Trust the read-only labels of Notes" }).click();
  await card.getByText("Allow reads until Gatehouse quits").click();
  expect((await call).isError).toBeFalsy();
  expect((await client.call("list_notes", {})).isError).toBeFalsy();
  expect(await gatehouse.command("approvals.list", { known: [] })).toEqual([]);
});

test("a secret is shown to whoever asks, and hidden again when the window is put away", async ({
  gatehouse,
  prompt,
  main,
}) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("add_note", { text: "x", api_key: "sk-live-0123456789abcdefghij" });
  const card = prompt.getByRole("article");
  await card.getByRole("button", { name: "Show the secret in api_key" }).click();
  await expect(card).toContainText("sk-live-0123456789abcdefghij");
  await noViolations(prompt);
  await prompt.keyboard.press("Escape");
  await expect(card).not.toContainText("0123456789abcdefghij");

  await main.getByRole("link", { name: "Approvals" }).click();
  await main.getByRole("button", { name: "Show the secret in api_key" }).click();
  await expect(main.getByRole("article")).toContainText("sk-live-0123456789abcdefghij");
  await main.getByRole("button", { name: "Hide the secret in api_key" }).click();
  await expect(main.getByRole("article")).not.toContainText("0123456789abcdefghij");
  // The prompt was put away, so the shell takes no answers from it.
  await main.getByRole("article").getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

test("an approval request tells what the server is for, and which program it is seen from", async ({
  gatehouse,
  main,
  prompt,
}) => {
  await expect(main.getByRole("article", { name: "Time" }).locator("[data-icon=clock]")).toBeVisible();
  await main.getByRole("link", { name: "Time", exact: true }).click();
  await main.getByRole("tab", { name: "Settings" }).click();
  await main.getByRole("button", { name: "More settings" }).click();
  await main.getByLabel("Icon").selectOption("Calendar");
  await main.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await gatehouse.command("servers.list", {})).find((it) => it.config.name === "Time")?.icon)
    .toBe("calendar");
  const { config } = (await gatehouse.command("servers.list", {})).find((it) => it.config.name === "Time") ?? {};
  if (!config) throw new Error("there is no Time");
  const { look, ...rest } = config;
  await gatehouse.command("servers.edit", {
    server: config.id,
    draft: { ...rest, look: { ...look, description: "Tells the time of any place" } } as never,
    secrets: [],
  });
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", {});
  const card = prompt.getByRole("article");
  await expect(card.locator("[data-icon=calendar]")).toBeVisible();
  await expect(card.getByText("Tells the time of any place")).toBeVisible();
  await card.getByText(/^via /).click();
  await expect(card.getByText(/^started by /)).toBeVisible();
  await expect(card.getByText("Not verified")).toBeVisible();
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt-seen-from", [{ width: 440, height: 520 }]);
  await card.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call).isError).toBe(true);
});

test("five megabytes of arguments are all there, and only what is in sight is drawn", async ({ gatehouse, prompt }) => {
  test.slow();
  const client = await gatehouse.connect("Claude Code");
  const lines = Array.from({ length: 126_000 }, (_, at) => `line ${String(at)} of a text that is rather long`);
  const size = lines.reduce((sum, line) => sum + line.length + 2, 0);
  expect(size).toBeGreaterThan(5 * 1024 * 1024);
  let call: ReturnType<typeof client.call> | undefined;
  const area = prompt.getByRole("group", { name: "Arguments" });
  await frames(prompt, "five megabytes come", async () => {
    call = client.call("add_note", { text: `${lines.join("\n")}\nthe very end` });
    await expect(area).toContainText("line 0 of", { timeout: 30_000 });
  });
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await prompt.screenshot({ path: `${shots}/prompt-huge.png` });
  let most = 0;
  await frames(prompt, "five megabytes scrolled", async () => {
    most = await area.evaluate(async (element) => {
      let drawn = 0;
      for (let step = 1; step <= 60; step += 1) {
        element.scrollTop = (element.scrollHeight * step) / 60;
        await new Promise((done) => requestAnimationFrame(done));
        drawn = Math.max(drawn, element.textContent.length);
      }
      return drawn;
    });
  });
  // A few blocks of 2,000 characters, whatever the whole is.
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(12_000);
  await expect
    .poll(async () => {
      await area.evaluate((element) => {
        element.scrollTop = element.scrollHeight;
      });
      return area.textContent();
    })
    .toContain("the very end");
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await call)?.isError).toBe(true);
});

test("64 approval requests, one of them huge: nothing that stands is drawn anew when others come and go", async ({
  gatehouse,
  main,
  prompt,
}) => {
  test.slow();
  const client = await gatehouse.connect("Claude Code");
  const huge = client.call("add_note", { text: "line of a text that is rather long\n".repeat(120_000) });
  await expect(prompt.getByRole("article")).toContainText("line of a text", { timeout: 30_000 });
  await main.getByRole("link", { name: "Approvals" }).click();
  await expect(main.getByRole("article")).toContainText("line of a text");
  // What was read once is not read again, least of all five megabytes of it.
  const read: { main: Promise<number>[]; prompt: Promise<number>[] } = { main: [], prompt: [] };
  const size = async (response: Response) => (await response.request().sizes()).responseBodySize;
  main.on("response", (response) => {
    if (response.url().endsWith("/host/command") && response.request().postData()?.includes("approvals.list"))
      read.main.push(size(response));
  });
  prompt.on("response", (response) => {
    if (response.url().endsWith("/host/prompt_pending")) read.prompt.push(size(response));
  });
  const calls: Promise<unknown>[] = [];
  await frames(main, "63 more come to the page", async () => {
    for (let at = 1; at < 64; at += 1)
      calls.push(client.call(at % 2 ? "add_note" : "list_notes", { text: `note ${String(at)}`, tag: String(at) }));
    // In the page itself: to look from outside takes longer than any frame.
    await main.evaluate(async () => {
      while (document.querySelectorAll("article").length < 64) await new Promise((done) => requestAnimationFrame(done));
    });
  });
  await expect(main.getByText("Pending approvals: 64")).toBeVisible();
  await expect(prompt.getByText(/ of 64$/)).toBeVisible();
  for (const readings of [read.main, read.prompt]) {
    expect(readings.length).toBeGreaterThan(0);
    for (const bytes of await Promise.all(readings)) {
      expect(bytes).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(1_000_000);
    }
  }
  // The blocks of what is far from sight are not drawn, nor is most of what is huge.
  expect(await main.locator("[role=group] [data-index]").count()).toBeLessThan(10);

  await main.evaluate(() => {
    const changed: string[] = [];
    Object.assign(window, { changed });
    const observer = new MutationObserver((all) => {
      changed.push(...all.map(({ target }) => (target as Element).outerHTML.slice(0, 200)));
    });
    // The time that is left is the one thing that goes on by itself.
    for (const card of document.querySelectorAll("article > :not([role=timer])"))
      observer.observe(card, { childList: true, subtree: true });
  });
  const zed = await gatehouse.connect("Zed");
  const gone = new AbortController();
  const other = zed.call("current_time", {}, gone.signal).catch(() => undefined);
  await expect(main.getByRole("heading", { name: "Zed → Time" })).toBeVisible();
  gone.abort();
  await other;
  await expect(main.getByText("Zed has stopped waiting.")).toBeVisible();
  await expect(main.getByText("Claude Code → Notes")).toBeVisible();
  expect(await main.evaluate(() => (window as unknown as { changed: string[] }).changed)).toEqual([]);

  await frames(main, "64 questions scrolled", async () => {
    await main.getByTestId("page-body").evaluate(async (element) => {
      for (let step = 1; step <= 60; step += 1) {
        element.scrollTop = (element.scrollHeight * step) / 60;
        await new Promise((done) => requestAnimationFrame(done));
      }
    });
  });
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await main.screenshot({ path: `${shots}/approvals-many.png` });
  await main.getByRole("button", { name: /^Deny all 64 from Claude Code/ }).click();
  for (const answer of await Promise.all([huge, ...calls]))
    expect((answer as { isError?: boolean }).isError).toBe(true);
  await main.getByRole("button", { name: "Clear finished" }).click();
  // Who left is still asked about: the answer would count for the next identical call.
  await expect(main.getByText("Pending approvals: 1", { exact: true })).toBeVisible();
  await expect(main.getByRole("article")).toHaveCount(1);
});

test("at twice the size of text nothing is cut, and the request scrolls", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("add_note", { text: "- buy milk\n- call Bo", api_key: "sk-live-0123456789abcdefghij" });
  await expect(prompt.getByRole("article")).toBeVisible();
  await prompt.evaluate(() => {
    document.documentElement.style.fontSize = "200%";
  });
  for (const opened of [null, "More deny options"]) {
    if (opened) await prompt.getByRole("button", { name: opened }).click();
    const cut = await prompt.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>("main *")]
        .filter(
          (it) =>
            it.checkVisibility() && it.scrollWidth > it.clientWidth + 1 && getComputedStyle(it).overflowX !== "visible",
        )
        .map((it) => it.className),
    );
    expect(cut).toEqual([]);
    for (const button of await prompt.getByRole("button").all()) {
      await button.scrollIntoViewIfNeeded();
      const box = await button.boundingBox();
      expect(box && box.x >= 0 && box.x + box.width <= 440, (await button.textContent()) ?? "").toBe(true);
    }
    const last = prompt.getByRole("timer");
    await last.scrollIntoViewIfNeeded();
    await expect(last).toBeInViewport();
    const shots = process.env["GATEHOUSE_SHOTS"];
    if (shots) {
      await prompt.screenshot({ path: `${shots}/prompt-large-text-${opened ? "deny" : "end"}.png` });
      await prompt.locator("main").evaluate((it) => {
        it.scrollTop = 0;
      });
      await prompt.screenshot({ path: `${shots}/prompt-large-text-${opened ? "deny-" : ""}begin.png` });
    }
  }
  await prompt.getByRole("button", { name: "Deny this exact call" }).click();
  expect((await call).isError).toBe(true);
});

test("a tool that is not what was allowed asks again, and shows field by field what changed", async ({
  gatehouse,
  prompt,
}) => {
  await gatehouse.addFixture("fixture", "--fault", "changes-tools");
  const always = { lifetime: "always", width: "tool", everyClient: true, conditions: [] } as const;
  for (const tool of ["echo", "mutate"]) {
    await gatehouse.command("policy.grant", {
      server: "fixture",
      tool,
      client: null,
      choice: { ...always, conditions: [] },
    });
  }
  const client = await gatehouse.connect("Claude Code");
  expect((await client.call("echo", {})).isError).toBeFalsy();
  const before = (await gatehouse.command("tools.list", { server: "fixture" })).find(
    (tool) => tool.name === "echo",
  )?.description;
  await client.call("mutate", {});
  // The server says that its list changed; Gatehouse reads it again after a moment.
  const description = async () =>
    (await gatehouse.command("tools.list", { server: "fixture" })).find((tool) => tool.name === "echo")?.description;
  await expect.poll(description).not.toBe(before);
  const call = client.call("echo", {});
  await expect(prompt.getByRole("heading", { name: "What changed" })).toBeVisible();
  await expect(prompt.getByText("The tool's definition has changed since you allowed it")).toBeVisible();
  await noViolations(prompt);
  const shots = process.env["GATEHOUSE_SHOTS"];
  if (shots) await prompt.screenshot({ path: `${shots}/prompt-changed.png` });
  await expect(prompt.getByText("“Always” approves this definition.")).toBeVisible();
  await prompt.getByRole("button", { name: "More allow options" }).click();
  const panel = prompt.getByRole("region", { name: "More allow options" });
  await panel.getByRole("radio", { name: "everything on fixture" }).check();
  await expect(panel.getByLabel("Always")).toHaveCount(0);
  await panel.getByRole("radio", { name: "fixture: echo" }).check();
  await panel.getByLabel("Always").check();
  await panel.getByRole("button", { name: "Always allow fixture: echo, for Claude Code" }).click();
  expect((await call).isError).toBeFalsy();
  expect((await client.call("echo", { again: true })).isError, "it is approved for good").toBeFalsy();
});

for (const [picks, deed, sentence] of [
  [
    ["Time: current_time", "Always", "For every client, not just Claude Code"],
    "Always deny Time: current_time, for every client",
    "Always deny Time: current_time, for every client",
  ],
  [
    ["everything on Time", "For 15 minutes"],
    "Deny everything on Time for 15 minutes, for Claude Code",
    /^Deny everything on Time until .*, for Claude Code$/,
  ],
  [
    ["everything on every server", "Until Gatehouse quits"],
    "Deny everything on every server until Gatehouse quits, for Claude Code",
    "Deny everything on every server until Gatehouse quits, for Claude Code",
  ],
  [
    ["this exact call", "Until Gatehouse quits"],
    "Deny this exact call until Gatehouse quits, for Claude Code",
    "Deny one exact call on Time until Gatehouse quits, for Claude Code",
  ],
] as const) {
  test(`a denial can go on: ${deed}`, async ({ gatehouse, prompt, main }) => {
    const client = await gatehouse.connect("Claude Code");
    const call = client.call("current_time", { timezone: "Asia/Tokyo" });
    await prompt.getByRole("button", { name: "More deny options" }).click();
    for (const label of picks) await prompt.getByLabel(label, { exact: true }).check();
    await noViolations(prompt);
    if (deed.startsWith("Always")) await pictures(gatehouse, prompt, "prompt-deny", [{ width: 440, height: 640 }]);
    await prompt.getByRole("button", { name: deed, exact: true }).click();
    expect((await call).isError).toBe(true);
    const again = await client.call("current_time", { timezone: "Asia/Tokyo" });
    expect(again.isError).toBe(true);
    expect(await gatehouse.command("approvals.list", { known: [] })).toEqual([]);
    await main.getByRole("link", { name: "Permissions" }).click();
    await expect(main.getByText(sentence)).toBeVisible();
  });
}
