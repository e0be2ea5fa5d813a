import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import type { Browser, Locator, Page } from "@playwright/test";

import { expect, noViolations, pictures, test as plain, type Gatehouse } from "./base.ts";

const root = resolve(import.meta.dirname, "../..");
const shots = process.env["GATEHOUSE_SHOTS"];

/** A real authorization server with a protected MCP server in front of it. */
type Provider = {
  mcp: string;
  issuer: string;
  get: (name: string) => Promise<unknown>;
  post: (name: string, wanted: unknown) => Promise<unknown>;
};

const test = plain.extend<{ provider: Provider }>({
  provider: async ({}, use) => {
    const child = spawn("node", [join(root, "tests/js/authorization-server.mjs")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = new Promise((done) => child.once("exit", done));
    try {
      const line = new Promise<string>((yes) => createInterface({ input: child.stdout }).once("line", yes));
      const first = await Promise.race([line, ended]);
      if (typeof first !== "string") throw new Error(`the authorization server ended with ${String(first)}`);
      const { mcp, issuer, test: control } = JSON.parse(first) as { mcp: string; issuer: string; test: string };
      const reply = async (response: Response): Promise<unknown> => {
        if (!response.ok) throw new Error(await response.text());
        return response.json();
      };
      await use({
        mcp,
        issuer,
        get: async (name) => reply(await fetch(`${control}/${name}`)),
        post: async (name, wanted) =>
          reply(await fetch(`${control}/${name}`, { method: "POST", body: JSON.stringify(wanted) })),
      });
    } finally {
      child.stdin.end();
      await ended;
    }
  },
});

/** Adds the protected server as a user does, and gives its card. */
async function add(main: Page, provider: Provider, name = "notes server"): Promise<Locator> {
  await main.getByRole("button", { name: "Add server" }).click();
  const dialog = main.getByRole("dialog", { name: "Add a server" });
  await dialog.getByLabel("Paste a command").fill(provider.mcp);
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill(name);
  await dialog.getByRole("button", { name: "Add server" }).click();
  await expect(dialog).toBeHidden();
  const card = main.getByRole("article", { name });
  await expect(card.getByText("Sign-in needed")).toBeVisible();
  return card;
}

/** The addresses that the user's browser was sent to so far. */
async function opened(gatehouse: Gatehouse): Promise<string[]> {
  const lines = (await gatehouse.noted()).filter((line) => line.startsWith("browser "));
  return lines.map((line) => line.slice("browser ".length));
}

/** Clicks what opens the browser, and gives the one address that it was sent to. */
async function opens(gatehouse: Gatehouse, click: () => Promise<void>): Promise<string> {
  const before = (await opened(gatehouse)).length;
  await click();
  await expect.poll(async () => (await opened(gatehouse)).length).toBe(before + 1);
  return (await opened(gatehouse)).at(-1) ?? "";
}

/** The user in their own browser: signs in, answers, and sees where it ends. */
async function visit(
  browser: Browser,
  address: string,
  answer: { user: string; press: "Allow" | "Deny" },
  at: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  await page.getByRole("textbox", { name: "User name" }).fill(answer.user);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: answer.press }).click();
  await at(page);
  await context.close();
}

/** The last page of a good end, which is Gatehouse's own. */
async function lastPage(page: Page): Promise<void> {
  await expect(page.getByText(/close this window/i)).toBeVisible();
  await expect(page.locator("script")).toHaveCount(0);
  expect(new URL(page.url()).hostname).toBe("127.0.0.1");
  await noViolations(page);
  if (shots) await page.screenshot({ path: join(shots, "sign-in-done.png") });
}

/** Everything that goes between a page and its window from now on. */
async function traffic(page: Page): Promise<string[]> {
  const heard: string[] = [];
  const wire = await page.context().newCDPSession(page);
  wire.on("Network.eventSourceMessageReceived", ({ data }) => heard.push(data));
  await wire.send("Network.enable");
  page.on("request", (request) => heard.push(request.url(), request.postData() ?? ""));
  page.on("response", (response) => {
    const kind = response.headers()["content-type"] ?? "";
    if (kind.includes("json"))
      void response.text().then(
        (text) => heard.push(text),
        () => undefined,
      );
  });
  await page.reload();
  return heard;
}

test("a click on Sign in, a visit to the browser, and the server runs; Sign out takes it back", async ({
  gatehouse,
  main,
  provider,
  browser,
}) => {
  const heard = await traffic(main);
  const card = await add(main, provider);
  expect(await opened(gatehouse), "no browser without a click").toEqual([]);
  await pictures(gatehouse, main, "sign-in-needed");
  await noViolations(main);

  const address = await opens(gatehouse, () => card.getByRole("button", { name: "Sign in", exact: true }).click());
  expect(new URL(address).origin).toBe(provider.issuer);
  await expect(card.getByText("Signing in… Continue in your browser")).toBeVisible();
  await pictures(gatehouse, main, "sign-in-waiting");
  await noViolations(main);
  await visit(browser, address, { user: "ann", press: "Allow" }, lastPage);
  await expect(card.getByText("Running")).toBeVisible();

  await card.getByRole("link", { name: "notes server" }).click();
  await expect(main.getByText(/ann@notes\.example/)).toBeVisible();
  await expect(main.getByText(/expires/i)).toBeVisible();
  await pictures(gatehouse, main, "signed-in");
  await noViolations(main);
  const { accessTokens } = (await provider.get("counts")) as { accessTokens: number };
  expect(accessTokens).toBe(1);

  await main.getByRole("button", { name: "Sign out" }).click();
  await expect(main.getByText("Sign-in needed")).toBeVisible();
  await expect.poll(async () => ((await provider.get("counts")) as { accessTokens: number }).accessTokens).toBe(0);
  await noViolations(main);
  expect(await opened(gatehouse), "signing out opened a browser").toHaveLength(1);

  const said = [...heard, await main.content(), JSON.stringify(await gatehouse.command("events.list", {}))].join("\n");
  expect(said).toContain("servers.signIn");
  expect(said).toContain("sign_in_changed");
  const secrets = (await provider.get("secrets")) as { kind: string; value: string }[];
  expect(secrets.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(["access_token", "refresh_token", "code", "verifier"]),
  );
  expect(secrets.filter(({ value }) => said.includes(value)).map(({ kind }) => kind)).toEqual([]);
});

test("a sign-in is given up, and one whose browser cannot come back is finished by pasting", async ({
  gatehouse,
  main,
  provider,
  browser,
}) => {
  const card = await add(main, provider);
  const signIn = card.getByRole("button", { name: "Sign in", exact: true });
  await opens(gatehouse, () => signIn.click());
  await card.getByRole("button", { name: "Cancel" }).click();
  await expect(card.getByText("Sign-in needed")).toBeVisible();

  const address = await opens(gatehouse, () => signIn.click());
  let ended = "";
  await visit(browser, address, { user: "ann", press: "Deny" }, async (page) => {
    await expect.poll(() => new URL(page.url()).origin).not.toBe(provider.issuer);
  });
  await expect(card.getByText("Sign-in needed")).toBeVisible();

  const again = await opens(gatehouse, () => signIn.click());
  await card.getByRole("button", { name: "Paste the address" }).click();
  const dialog = main.getByRole("dialog");
  await dialog.getByRole("textbox").fill("http://127.0.0.1/nothing");
  await dialog.getByRole("textbox").press("Enter");
  await expect(dialog.getByRole("alert")).toBeVisible();
  await noViolations(main);
  // The browser is on another computer: what it is sent back to cannot be reached from there.
  const context = await browser.newContext();
  const page = await context.newPage();
  const redirect = new URL(again).searchParams.get("redirect_uri") ?? "";
  const wire = await context.newCDPSession(page);
  wire.on("Fetch.requestPaused", ({ requestId, request }) => {
    ended = request.url;
    void wire.send("Fetch.failRequest", { requestId, errorReason: "ConnectionRefused" });
  });
  await wire.send("Fetch.enable", { patterns: [{ urlPattern: `${redirect}*` }] });
  await page.goto(again);
  await page.getByRole("textbox", { name: "User name" }).fill("ann");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await expect.poll(() => ended).toContain("code=");
  await context.close();
  await dialog.getByRole("textbox").fill(ended);
  await dialog.getByRole("textbox").press("Enter");
  await expect(dialog).toBeHidden();
  await expect(card.getByText("Running")).toBeVisible();
});

test("a call that needs more scopes waits for the request and the browser, and goes on by itself", async ({
  gatehouse,
  main,
  prompt,
  provider,
  browser,
}) => {
  const card = await add(main, provider);
  const first = await opens(gatehouse, () => card.getByRole("button", { name: "Sign in", exact: true }).click());
  await visit(browser, first, { user: "ann", press: "Allow" }, lastPage);
  await expect(card.getByText("Running")).toBeVisible();
  await gatehouse.command("policy.autoApprove", { server: "notes server", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("write", { text: "hello" });

  const question = prompt.getByRole("article").filter({ hasText: "notes.write" });
  await expect(question).toContainText("notes server");
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "ask-more-scopes", [{ width: 440, height: 420 }]);
  const allow = question.getByRole("button", { name: "Allow" });
  await expect(allow).toHaveAttribute("aria-disabled", "false");
  const second = await opens(gatehouse, () => allow.click());
  expect(new URL(second).searchParams.get("scope")?.split(" ")).toEqual(
    expect.arrayContaining(["notes.read", "notes.write"]),
  );
  await visit(browser, second, { user: "ann", press: "Allow" }, lastPage);
  const answer = await call;
  expect(answer.isError ?? false).toBe(false);
  expect(JSON.stringify(answer)).toContain("ann wrote hello");
});

test("what a provider gave is entered in the form, with its faults in place; its secrets stay references", async ({
  gatehouse,
  main,
  provider,
}) => {
  const card = await add(main, provider);
  await card.getByRole("link", { name: "notes server" }).click();
  await main.getByRole("tab", { name: "Settings" }).click();
  // As “Enter client id” leads there.
  await main.goto(`${main.url()}/sign-in`);
  const id = main.getByLabel("Client ID", { exact: true });
  await expect(id).toBeFocused();
  await noViolations(main);
  await pictures(gatehouse, main, "sign-in-settings");
  // The whole form at once: what scrolls behind its buttons counts as too small to be hit.
  await main.setViewportSize({ width: 1120, height: 1800 });
  const redirect = main.getByLabel("Fixed redirect URI");
  const save = main.getByRole("button", { name: "Save" });
  await id.fill("gatehouse-1");
  await main.getByLabel("Client secret").fill("a secret of the provider");
  await redirect.fill("https://elsewhere.example/callback");
  await save.click();
  await expect(redirect).toBeFocused();
  await expect(main.getByText("Enter an address like http://127.0.0.1:8976/callback.")).toBeVisible();
  await noViolations(main);
  await redirect.fill("");
  await main.getByLabel("Scopes").fill("notes.read  notes.write");
  await save.click();
  await expect(main.getByText("Saved")).toBeVisible();

  const kept = async () =>
    (await gatehouse.command("servers.list", {})).find(({ config }) => config.name === "notes server");
  const client = { id: "gatehouse-1", secret: "${secret:secret}", method: null };
  expect((await kept())?.config.transport).toMatchObject({
    signIn: { client, scopes: ["notes.read", "notes.write"], with: { with: "browser" } },
  });
  expect(JSON.stringify([await kept(), await gatehouse.command("events.list", {})])).not.toContain(
    "a secret of the provider",
  );

  // The form leaves the secret as it is, and so does JSON.
  await expect(main.getByPlaceholder("unchanged")).toBeVisible();
  await main.getByLabel("Scopes").fill("notes.read");
  await save.click();
  await expect.poll(async () => JSON.stringify((await kept())?.config.transport)).not.toContain("notes.write");
  await main.getByText("JSON", { exact: true }).click();
  await expect(main.getByRole("textbox", { name: "JSON" })).toContainText("${secret:secret}");

  await main.getByText("Form", { exact: true }).click();
  await main.getByRole("switch", { name: "Enable sign-in" }).click({ force: true });
  await save.click();
  await expect.poll(async () => (await kept())?.signIn).toBeNull();
});

test("the client document is set in the settings", async ({ gatehouse, main }) => {
  await main.getByRole("link", { name: "Settings" }).click();
  const address = main.getByLabel("Client document address");
  const kept = async () => (await gatehouse.command("settings.show", {})).clientDocument;
  await address.fill("http://gatehouse.example");
  await address.press("Enter");
  await expect(main.getByText("Enter an https address with a path")).toBeVisible();
  await noViolations(main);
  await address.fill("https://gatehouse.example/client.json");
  await address.press("Enter");
  await expect.poll(kept).toBe("https://gatehouse.example/client.json");
  await address.fill("");
  await address.press("Enter");
  await expect.poll(kept).toBeNull();
});
