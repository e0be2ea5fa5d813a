// The story of a tool call in a conversation with each API beside OpenAI's chat completions, which chat.spec.ts plays:
// the model calls a tool, the user allows it inline, the result goes back as that API has it, the answer is shown.

import { expect, test as base } from "./base.ts";
import { ScriptedModel } from "./scripted-model.ts";

const test = base.extend<{ model: ScriptedModel }>({
  model: async ({}, use) => {
    const model = await ScriptedModel.start();
    await use(model);
    await model.close();
  },
});

/** What identifies a result in the last request of each API. */
const apis = [
  { api: "open_ai_responses", header: "authorization", result: '"type":"function_call_output"' },
  { api: "anthropic", header: "x-api-key", result: '"type":"tool_result"' },
  { api: "gemini", header: "x-goog-api-key", result: '"functionResponse":{"name":"current_time"' },
] as const;

for (const { api, header, result } of apis) {
  test(`a call is allowed inline and answered: ${api}`, async ({ gatehouse, model, main }) => {
    await model.requireKey("sk-e2e");
    const draft = { name: "Mine", api, baseUrl: model.baseUrl(api), defaultModel: "small" };
    await gatehouse.command("models.addProvider", { draft, key: "sk-e2e" });
    await model.answers(
      [
        { reasoning: "A clock is needed." },
        { text: "I'll look." },
        { call: "current_time", args: { timezone: "Asia/Tokyo" } },
      ],
      [{ text: "It is **late** in Tokyo." }],
    );
    await main.getByRole("link", { name: "Chat" }).click();
    const composer = main.getByRole("textbox", { name: "Message", exact: true });
    await composer.fill("What time is it in Tokyo?");
    await composer.press("Enter");

    const log = main.getByRole("log", { name: "Messages" });
    const request = log.getByRole("article", { name: /wants to use Current time of Time/ });
    await expect(request).toContainText("Asia/Tokyo");
    expect(await model.requests()).toHaveLength(1);
    await request.getByRole("button", { name: "Allow once" }).click();
    await expect(log.getByText("late", { exact: true })).toBeVisible();
    await expect(log.getByRole("button", { name: /^Current time · Time/ })).toContainText("your answer");
    await expect(log.getByText("I'll look.")).toBeVisible();
    await log.getByRole("button", { name: "Reasoning" }).click();
    await expect(log.getByText("A clock is needed.")).toBeVisible();
    await expect(main.getByText("So far 2,400 tokens in, 68 tokens out")).toBeVisible();

    const asked = (await model.received()).filter(({ method }) => method === "POST");
    expect(asked).toHaveLength(2);
    for (const { headers } of asked) expect(headers[header]).toMatch(/^(Bearer )?sk-e2e$/);
    const last = JSON.stringify(asked.at(-1)?.body);
    expect(last).toContain(result);
    expect(last).toContain("Asia/Tokyo");
    expect(await main.content()).not.toContain("sk-e2e");
  });
}
