import { expect, noViolations, pictures, test } from "./base.ts";

test("a server is edited as JSON, with its faults in place", async ({ gatehouse, main }) => {
  const id = await gatehouse.addFixture("fixture");
  await main.goto(`${gatehouse.address}/#/servers/${id}/settings`);
  await main.getByText("JSON", { exact: true }).click();
  const editor = main.getByRole("textbox", { name: "JSON" });
  await expect(editor).toContainText("fixture-server");
  await noViolations(main);
  await pictures(gatehouse, main, "server-json");

  // Its styles came in without a style element, which the policy would have refused.
  const styled = await main.getByTestId("json-editor").evaluate((host) => {
    const scroller = host.shadowRoot?.querySelector(".cm-scroller");
    return {
      display: scroller && getComputedStyle(scroller).display,
      elements: document.querySelectorAll("style").length,
    };
  });
  expect(styled).toEqual({ display: "flex", elements: 0 });

  const write = async (text: string) => {
    await editor.click();
    await main.keyboard.press("Control+a");
    await main.keyboard.insertText(text);
  };
  // What an input method puts together over coloured text comes in as well.
  const devtools = await main.context().newCDPSession(main);
  await editor.click();
  await main.keyboard.press("Control+a");
  await devtools.send("Input.imeSetComposition", { text: "ni", selectionStart: 2, selectionEnd: 2 });
  await devtools.send("Input.imeSetComposition", { text: "ni hao", selectionStart: 6, selectionEnd: 6 });
  await devtools.send("Input.insertText", { text: "你好" });
  await expect(editor).toHaveText("你好");
  const save = main.getByRole("button", { name: "Save" });
  const entry = (more: object) =>
    JSON.stringify({ fixture: { command: gatehouse.program("fixture-server"), ...more } }, null, 2);
  await write(`${entry({})},`);
  await expect(main.getByText("Invalid JSON from here on.")).toBeVisible();
  await expect(save).toBeDisabled();
  await write(entry({ arg: ["--lifecycle"] }));
  await expect(main.getByRole("button", { name: "Line 4: Unknown field “arg”." })).toBeVisible();
  await noViolations(main);
  await write(entry({ env: { NEW: "${secret:NEW}" } }));
  await expect(main.getByText("This secret isn't stored yet. Enter it in the form.")).toBeVisible();

  const more = { description: "Misbehaves on demand", limits: { callSecs: null, strict: true } };
  await write(entry(more));
  await save.click();
  await expect(main.getByText("Saved")).toBeVisible();
  const kept = async () => (await gatehouse.command("servers.list", {})).find(({ config }) => config.id === id);
  const after = await kept();
  expect(after?.config.look.description).toBe("Misbehaves on demand");
  expect(after?.config.limits).toMatchObject({ callSecs: null, strict: true, connectSecs: 30 });
  // What it says and how long it may take are not what it is: only another program is another server.
  expect(after?.config.generation).toBe(0);
  await write(entry({ ...more, env: { COLOUR: "red" } }));
  await save.click();
  await expect.poll(async () => (await kept())?.config.generation).toBe(1);
  expect((await kept())?.config.transport).toMatchObject({ env: { COLOUR: "red" } });

  await main.getByText("Form", { exact: true }).click();
  await main.getByRole("button", { name: "Time limits and more" }).click();
  await expect(main.getByLabel("Strict")).toBeChecked();
  await expect(main.getByRole("combobox", { name: "Call timeout without progress" })).toHaveValue("none");
  await noViolations(main);
});

test("a secret stays a reference, and follows to no other program", async ({ gatehouse, main }) => {
  const draft = {
    name: "fixture",
    transport: {
      type: "stdio",
      command: gatehouse.program("fixture-server"),
      args: [],
      env: { TOKEN: "${secret:TOKEN}" },
      cwd: null,
      streams: "sockets",
    },
    protocolVersion: "auto",
    enabled: true,
    autostart: true,
    recordBodies: true,
    look: { description: null, icon: null, group: null },
    limits: {
      connectSecs: 30,
      callSecs: "default",
      callCapSecs: "default",
      healthEverySecs: 30,
      healthTimeoutSecs: 5,
      healthFailures: 3,
      strict: false,
      roots: [],
    },
    registry: null,
  } as const;
  const { config } = await gatehouse.command("servers.add", {
    draft: { ...draft, transport: { ...draft.transport, args: [] }, limits: { ...draft.limits, roots: [] } },
    secrets: [{ field: "env/TOKEN", value: "s3cr3t-of-mine" }],
    trustLabels: false,
    run: null,
  });
  await main.goto(`${gatehouse.address}/#/servers/${config.id}/settings`);
  await main.getByText("JSON", { exact: true }).click();
  const editor = main.getByRole("textbox", { name: "JSON" });
  await expect(editor).toContainText("${secret:TOKEN}");
  expect(await main.content()).not.toContain("s3cr3t-of-mine");
  await editor.click();
  await main.keyboard.press("Control+a");
  await main.keyboard.insertText(
    JSON.stringify({ fixture: { command: "other-program", env: { TOKEN: "${secret:TOKEN}" } } }),
  );
  await expect(main.getByText("The program, its environment or the address has changed")).toBeVisible();
  await expect(main.getByRole("button", { name: "Save" })).toBeDisabled();
  await main.getByRole("button", { name: "Cancel" }).click();
  await expect(editor).toContainText("fixture-server");
});

test("a remote server finds out what is spoken, unless it is told", async ({ gatehouse, main }) => {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByLabel("Paste a command").fill("http://127.0.0.1:9/mcp");
  await expect(dialog.getByRole("combobox", { name: "Transport" })).toHaveValue("Detect automatically (recommended)");
  await dialog.getByLabel("Headers from a program").fill('print-token --for "my server"');
  await dialog.getByRole("button", { name: "Time limits and more" }).click();
  await dialog.getByLabel("Folders to share with the server (roots)").fill("not/whole");
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(dialog.getByText("Enter a full path on each line.")).toBeVisible();
  await noViolations(main);
  await dialog.getByLabel("Folders to share with the server (roots)").fill(gatehouse.folder);
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(dialog).toBeHidden();
  const added = (await gatehouse.command("servers.list", {})).find(({ config }) => config.transport.type === "auto");
  expect(added?.config.transport).toMatchObject({
    headersFrom: { command: "print-token", args: ["--for", "my server"] },
  });
  expect(added?.config.limits.roots).toEqual([gatehouse.folder]);
});

test("where packages come from is kept", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Settings" }).click();
  const npm = main.getByRole("radiogroup", { name: "npm" });
  await npm.getByText("Custom", { exact: true }).click();
  await main.getByLabel("Address for npm").fill("mirror");
  await main.getByRole("region", { name: "Packages" }).getByRole("button", { name: "Save" }).click();
  await expect(main.getByText("Enter an http or https address.")).toBeVisible();
  await main.getByLabel("Address for npm").fill("https://mirror.example/npm/");
  await noViolations(main);
  await main.getByRole("region", { name: "Packages" }).getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await gatehouse.command("settings.show", {})).packages.npm)
    .toEqual({ from: "custom", url: "https://mirror.example/npm/" });
});
