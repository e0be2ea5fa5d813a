import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Browser, Locator, Page } from "@playwright/test";

import { expect, noViolations, pictures, test as plain, type Gatehouse } from "./base.ts";

const state = "a state of the client";

/** What listens at a client's redirect URI, with the parameters of each request that it got. */
type RedirectListener = { redirectUri: string; received: URLSearchParams[] };

const test = plain.extend<{ listener: RedirectListener }>({
  listener: async ({}, use) => {
    const received: URLSearchParams[] = [];
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
      if (pathname === "/callback") received.push(searchParams);
      response.end("You can close this page.");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await use({
      redirectUri: `http://127.0.0.1:${String(port)}/callback`,
      received,
    });
    server.close();
    server.closeAllConnections();
  },
});

/** Where the authorization server of the gateway has what. */
type ServerMetadata = {
  registration_endpoint: string;
  authorization_endpoint: string;
  token_endpoint: string;
};

/** Finds the authorization server as a client does that has only the address of the gateway. */
async function discover(gatehouse: Gatehouse): Promise<ServerMetadata> {
  const refused = await fetch(gatehouse.endpoint, { method: "POST" });
  expect(refused.status).toBe(401);
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const resource = await fetch(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "");
  const { authorization_servers } = (await resource.json()) as {
    authorization_servers: string[];
  };
  const server = await fetch(`${authorization_servers[0] ?? ""}/.well-known/oauth-authorization-server`);
  return (await server.json()) as ServerMetadata;
}

/** Registers a client, and gives its id. */
async function register(metadata: ServerMetadata, name: string, redirectUri: string): Promise<string> {
  const response = await fetch(metadata.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirectUri] }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { client_id: string }).client_id;
}

/** The user in their own browser, on the page that a client sent them to. */
async function visit(browser: Browser, address: string, at: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  await expect(page.getByRole("heading", { name: "Answer in Gatehouse" })).toBeVisible();
  await expect(page.locator("script, button, form")).toHaveCount(0);
  await at(page);
  await context.close();
}

/** Presses a button of a card once it takes answers. */
async function press(card: Locator, name: string): Promise<void> {
  const button = card.getByRole("button", { name, exact: true });
  await expect(button).toHaveAttribute("aria-disabled", "false");
  await button.click();
}

test("an unknown client asks for access; Deny gives it nothing, Allow makes it a client like the others", async ({
  gatehouse,
  main,
  prompt,
  browser,
  listener,
}) => {
  const { redirectUri, received } = listener;
  const metadata = await discover(gatehouse);
  const clientId = await register(metadata, "Sample Agent", redirectUri);
  const verifier = randomBytes(32).toString("base64url");
  const address = new URL(metadata.authorization_endpoint);
  address.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: gatehouse.endpoint,
    state,
  }).toString();
  const card = prompt.getByRole("article", {
    name: "Sample Agent asks for access",
  });
  const clients = async () =>
    (await gatehouse.command("clients.list", {})).map(({ name, access }) => [name, access.by]);

  await visit(browser, address.href, async (page) => {
    for (const shown of [redirectUri, clientId, "All servers", "it is not verified"])
      await expect(card).toContainText(shown);
    await noViolations(prompt);
    await pictures(gatehouse, prompt, "ask-client-access", [{ width: 440, height: 640 }]);
    expect(received, "nothing is sent before the answer").toHaveLength(0);
    await press(card, "Deny");
    await expect(prompt.getByText("Denied", { exact: true })).toBeVisible();
    await expect(page.getByText("You can close this page.")).toBeVisible();
  });
  expect(received).toHaveLength(1);
  expect(received[0]?.get("error")).toBe("access_denied");
  expect(received[0]?.get("code")).toBeNull();
  expect(received[0]?.get("state")).toBe(state);
  expect(await clients()).toEqual([]);

  await visit(browser, address.href, async (page) => {
    await press(card, "Allow");
    await expect(page.getByText("You can close this page.")).toBeVisible();
  });
  expect(received).toHaveLength(2);
  expect(received[1]?.get("error")).toBeNull();
  expect(received[1]?.get("state")).toBe(state);
  const response = await fetch(metadata.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code: received[1]?.get("code") ?? "",
      redirect_uri: redirectUri,
      code_verifier: verifier,
      resource: gatehouse.endpoint,
    }),
  });
  expect(response.status).toBe(200);
  const { access_token: token } = (await response.json()) as {
    access_token: string;
  };
  expect(await (await gatehouse.connectWith(token)).tools()).toContain("current_time");
  expect(await clients()).toEqual([["Sample Agent", "oauth"]]);

  // It is in the list of clients, and ends there.
  await main.getByRole("link", { name: "Clients" }).click();
  const listed = main.getByRole("article", { name: "Sample Agent" });
  await expect(listed).toContainText("Connects by OAuth");
  await expect(listed.getByRole("button", { name: "New token" })).toHaveCount(0);
  await noViolations(main);
  await listed.getByRole("button", { name: "Revoke" }).click();
  await main.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(listed).toBeHidden();
  await expect(gatehouse.connectWith(token)).rejects.toThrow();
});
