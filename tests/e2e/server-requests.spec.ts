import { expect, noViolations, pictures, test, type AiClient, type Gatehouse } from "./base.ts";

/** A client whose calls of the fixture run unasked, so that only the server's own requests come. */
async function caller(gatehouse: Gatehouse): Promise<AiClient> {
  await gatehouse.addFixture("fixture");
  await gatehouse.command("policy.autoApprove", { server: "fixture", client: null, to: "all" });
  return gatehouse.connect("Claude Code");
}

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 2 },
    email: { type: "string", title: "E-mail", format: "email" },
    guests: { type: "integer", title: "Guests", minimum: 1, maximum: 9, default: 2 },
    seat: {
      type: "string",
      title: "Seat",
      oneOf: [
        { const: "w", title: "Window" },
        { const: "a", title: "Aisle" },
      ],
      default: "a",
    },
    extras: { type: "array", title: "Extras", items: { type: "string", enum: ["wifi", "meal"] } },
    news: { type: "boolean", title: "Send me news" },
  },
  required: ["name", "email"],
};

test("a server asks in a form: checked before it is sent, with its defaults", async ({ gatehouse, prompt }) => {
  const client = await caller(gatehouse);
  const call = client.call("ask_form", { schema, message: "Who is the booking for?" });
  const card = prompt.getByRole("article", { name: "Request from fixture" });
  await expect(card).toContainText("Who is the booking for?");
  await expect(card).toContainText("Never enter a password");
  const send = card.getByRole("button", { name: "Send" });
  await expect(send).toHaveAttribute("aria-disabled", "false");
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "ask-form", [{ width: 440, height: 640 }]);
  await send.click();
  await expect(card.getByText("This field is required.")).toHaveCount(2);
  await expect(card.getByLabel("Your name")).toBeFocused();
  await noViolations(prompt);
  await card.getByLabel("Your name").fill("Ana");
  await card.getByLabel("E-mail").fill("ana");
  await expect(card.getByText("Enter an email address.")).toBeVisible();
  await card.getByLabel("E-mail").fill("ana@example.org");
  await card.getByLabel("meal").check();
  await prompt.keyboard.press("Control+Enter");
  await expect(prompt.getByText("Sent")).toBeVisible();
  const answer = JSON.stringify(await call);
  for (const part of ["accept", "ana@example.org", "meal"]) expect(answer).toContain(part);
  expect(answer.replaceAll("\\", "")).toContain('"guests":2');
});

test("a form is declined, or closed without an answer", async ({ gatehouse, prompt }) => {
  const client = await caller(gatehouse);
  for (const [button, word] of [
    ["Decline", "decline"],
    ["Close without answering", "cancel"],
  ] as const) {
    const call = client.call("ask_form", { schema, message: `To be met with ${word}` });
    const card = prompt.getByRole("article");
    // It comes to an empty queue and brings the window up: what is left of the one before makes way.
    await expect(card).toContainText(`To be met with ${word}`);
    await expect(card.getByRole("button", { name: "Send" })).toHaveAttribute("aria-disabled", "false");
    await card.getByRole("button", { name: button }).click();
    await expect(prompt.getByText("Declined")).toBeVisible();
    expect(JSON.stringify(await call)).toContain(word);
  }
});

test("a page to open stands there whole, its host set off, and is opened only by the user", async ({
  gatehouse,
  prompt,
}) => {
  const client = await caller(gatehouse);
  const url = `https://login.example.org/authorize?state=${"0123456789abcdef".repeat(20)}`;
  const call = client.call("ask_url", { url });
  const card = prompt.getByRole("article", { name: "fixture wants you to open a web page" });
  await expect(card).toContainText(url);
  await expect(card.locator("strong", { hasText: "login.example.org" })).toBeVisible();
  const open = card.getByRole("button", { name: "Open page" });
  await expect(open).toHaveAttribute("aria-disabled", "false");
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "ask-url", [{ width: 440, height: 420 }]);
  const opened = async () => (await gatehouse.noted()).filter((one) => one.startsWith("browser "));
  expect(await opened()).toEqual([]);
  await open.click();
  await expect(prompt.getByText("Sent")).toBeVisible();
  expect(await opened()).toEqual([`browser ${url}`]);
  expect(JSON.stringify(await call)).toContain("accept");
});

test("an address that looks like another one carries a warning", async ({ gatehouse, prompt }) => {
  const client = await caller(gatehouse);
  const call = client.call("ask_url", { url: "https://xn--pypal-4ve.example/sign-in" });
  await expect(prompt.getByText(/letters of other alphabets/)).toBeVisible();
  await noViolations(prompt);
  const decline = prompt.getByRole("button", { name: "Decline" });
  await expect(decline).toHaveAttribute("aria-disabled", "false");
  await decline.click();
  expect(JSON.stringify(await call)).toContain("decline");
});

test("a model's answer is written by the user", async ({ gatehouse, prompt }) => {
  const client = await caller(gatehouse);
  const call = client.call("ask_model", {});
  const card = prompt.getByRole("article", { name: "fixture asks for a response from a model" });
  await expect(card).toContainText("Say hello");
  const send = card.getByRole("button", { name: "Send" });
  await expect(send).toHaveAttribute("aria-disabled", "false");
  await send.click();
  await expect(card.getByText("This field is required.")).toBeVisible();
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "ask-model", [{ width: 440, height: 480 }]);
  await card.getByLabel("Your response in place of the model's").fill("Hello from Ana");
  await send.click();
  await expect(prompt.getByText("Sent")).toBeVisible();
  expect(JSON.stringify(await call)).toContain("Hello from Ana");
});

test("the page of approvals takes the same answers", async ({ gatehouse, main }) => {
  const client = await caller(gatehouse);
  const call = client.call("ask_form", {
    schema: { type: "object", properties: { note: { type: "string", title: "Note" } } },
    message: "Anything to add?",
  });
  await main.getByRole("link", { name: "Approvals" }).click();
  const card = main.getByRole("article", { name: "Request from fixture" });
  await card.getByLabel("Note").fill("By the window");
  const send = card.getByRole("button", { name: "Send" });
  await expect(send).toHaveAttribute("aria-disabled", "false");
  await noViolations(main);
  await send.click();
  expect(JSON.stringify(await call)).toContain("By the window");
});

test("a call that waits for a sign-in goes on when the user says that it is done", async ({ gatehouse, prompt }) => {
  await gatehouse.addFixture("fixture", "--lifecycle", "legacy");
  await gatehouse.command("policy.autoApprove", { server: "fixture", client: null, to: "all" });
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("ask_url_error", { url: "https://login.example.org/sign" });
  const card = prompt.getByRole("article", { name: "fixture wants you to open a web page" });
  const open = card.getByRole("button", { name: "Open page" });
  await expect(open).toHaveAttribute("aria-disabled", "false");
  await open.click();
  await expect(card.getByText(/continues when you've finished there/)).toBeVisible();
  expect(await gatehouse.command("approvals.list", { known: [] })).toHaveLength(1);
  await noViolations(prompt);
  await card.getByRole("button", { name: "I've finished" }).click();
  expect(JSON.stringify(await call)).toContain("signed");
});
