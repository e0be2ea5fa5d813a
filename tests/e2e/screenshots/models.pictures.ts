// Pictures of model providers and of what their models do beside Chat. Their provider is scripted.

import { ScriptedModel } from "../scripted-model.ts";
import { client, documents } from "./lived.ts";
import { expect, prompt, test as base, whileWaiting } from "./picture.ts";

type ModelFixtures = {
  model: ScriptedModel;
  /** Two providers, of which one model answers sampling requests and gives opinions. */
  providers: undefined;
};

const test = base.extend<ModelFixtures>({
  model: async ({}, use) => {
    const model = await ScriptedModel.start();
    await use(model);
    await model.close();
  },
  providers: async ({ lived, model }, use) => {
    const add = (draft: { name: string; baseUrl: string; defaultModel: string }, key: string | null) =>
      lived.command("models.addProvider", { draft: { ...draft, api: "open_ai_chat" }, key });
    const added = [
      await add({ name: "Ollama", baseUrl: model.baseUrl(), defaultModel: "small" }, null),
      await add({ name: "Company", baseUrl: "https://models.example.com/v1", defaultModel: "gpt-large" }, "sk-picture"),
    ];
    const choice = { provider: added[0]?.id ?? "", model: "small" };
    await lived.command("models.assign", { sampling: choice, opinion: choice });
    await use(undefined);
    for (const { id } of added) await lived.command("models.removeProvider", { provider: id });
  },
});

test("settings of models", async ({ lived, providers, picture }) => {
  void providers;
  await picture(lived, {
    name: "settings-models",
    at: "#/settings/models",
    open: async (page, t) => {
      await expect(page.getByRole("list", { name: t("models.providers") })).toBeInViewport();
    },
  });
});

test("no provider yet", async ({ lived, picture }) => {
  await picture(lived, {
    name: "settings-models-empty",
    at: "#/settings/models",
    open: async (page, t) => {
      await expect(page.getByRole("button", { name: t("models.add") })).toBeInViewport();
    },
  });
});

test("add a provider", async ({ lived, providers, picture }) => {
  void providers;
  await picture(lived, {
    name: "models-add",
    at: "#/settings/models",
    open: async (page, t) => {
      await page.getByRole("button", { name: t("models.add") }).click();
      await expect(page.getByRole("dialog").getByLabel(t("models.name"))).toBeVisible();
    },
  });
});

test("a tested provider", async ({ lived, providers, picture }) => {
  void providers;
  await picture(lived, {
    name: "models-tested",
    at: "#/settings/models",
    open: async (page, t) => {
      await page.getByRole("button", { name: t("models.editTitle", { name: "Ollama" }) }).click();
      await page.getByRole("button", { name: t("models.test"), exact: true }).click();
      await expect(page.getByText(t("models.works", { count: 2 }))).toBeVisible();
    },
  });
});

test("an opinion on a call", async ({ lived, model, providers, picture }) => {
  void providers;
  const sentence = "Overwrites the file todo.md in the folder documents with two new lines.";
  // One for each time that the page is opened, which asks again.
  for (let at = 0; at < 8; at++) await model.answers([{ text: JSON.stringify({ level: "medium", sentence }) }]);
  const args = { path: `${documents(lived)}/todo.md`, content: "- buy milk\n- call Bo" };
  await whileWaiting(lived, [() => client(lived, "Claude Code").call("write_file", args)], () =>
    picture(lived, {
      name: "prompt-opinion",
      at: prompt,
      open: async (page, t) => {
        await expect(page.getByText(sentence)).toBeVisible();
        const allow = page.getByRole("button", { name: t("ask.allowOnce"), exact: true });
        await expect(allow).toHaveAttribute("aria-disabled", "false");
      },
    }),
  );
});

test("an answer by a model", async ({ lived, model, providers, picture }) => {
  void providers;
  for (let at = 0; at < 8; at++) await model.answers([{ text: "Hello! What can I do for you today?" }]);
  const server = await lived.addFixture("Wiki search");
  await lived.command("policy.autoApprove", { server, client: null, to: "all" });
  const tools = async () => lived.command("tools.list", { server });
  await expect.poll(async () => (await tools()).some(({ name }) => name === "ask_model")).toBe(true);
  const tool = (await tools()).find(({ name }) => name === "ask_model")?.exposedName ?? "ask_model";
  await whileWaiting(lived, [(signal) => client(lived, "Claude Code").call(tool, {}, signal)], async () => {
    for (const state of ["before", "written"] as const) {
      await picture(lived, {
        name: `prompt-sampling-${state}`,
        at: prompt,
        open: async (page, t) => {
          const write = page.getByRole("button", { name: t("ask.sampling.let") });
          await expect(write).toHaveAttribute("aria-disabled", "false");
          if (state === "before") return;
          await write.click();
          await expect(page.getByRole("textbox")).toHaveValue(/^Hello!/);
        },
      });
    }
  });
  await lived.command("servers.remove", { server, undoable: false });
});
