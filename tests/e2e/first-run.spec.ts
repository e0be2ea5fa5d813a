// The first steps (UI-11): from a first start to an answered approval request, each step skippable.

import { expect, noViolations, pictures, test } from "./base.ts";

const fresh = { theme: "light", language: "en", saidKeepsRunning: true, firstRunDone: false };

test("a first start leads to an answered request", async ({ gatehouse, main, prompt }) => {
  await gatehouse.send("set_preferences", { preferences: fresh });
  await main.reload();
  await expect(main.getByRole("heading", { name: "Welcome to Gatehouse" })).toBeVisible();
  await expect(main.getByText("Your servers: Time, Notes")).toBeVisible();
  await noViolations(main);
  await pictures(gatehouse, main, "first-run");
  await main.getByRole("button", { name: "Next" }).click();

  await main.getByRole("button", { name: "Another client, by a token" }).click();
  await main.getByRole("textbox", { name: "Name" }).fill("Editor");
  await main.getByRole("button", { name: "Create token" }).click();
  await expect(main.getByTestId("copy-value")).toHaveCount(2);
  await noViolations(main);
  await main.getByRole("button", { name: "Done" }).click();

  await main.getByRole("button", { name: "Try it" }).click();
  await expect(main.getByText("The request is on top of your screen")).toBeVisible();
  await noViolations(main);
  await expect(prompt.getByText("Practice", { exact: true })).toBeVisible();
  await prompt.getByRole("button", { name: "Allow once" }).click();
  await expect(main.getByText("Allowed: the call ran.")).toBeVisible();
  expect(await gatehouse.rules()).toEqual([]);
  await main.getByRole("button", { name: "Finish" }).click();
  await expect(main.getByRole("heading", { name: "Servers" })).toBeVisible();

  await main.goto(`${gatehouse.address}/#/settings`);
  await main.getByRole("link", { name: "Show first steps" }).click();
  await expect(main.getByRole("heading", { name: "Welcome to Gatehouse" })).toBeVisible();
});

test("the first steps can be skipped, and are not shown to those who have begun", async ({ gatehouse, main }) => {
  await gatehouse.send("set_preferences", { preferences: fresh });
  await main.reload();
  await main.getByRole("button", { name: "Skip" }).click();
  await expect(main.getByRole("heading", { name: "Servers" })).toBeVisible();
  expect(await gatehouse.send("preferences", {})).toMatchObject({ firstRunDone: true });

  await gatehouse.send("set_preferences", { preferences: fresh });
  await gatehouse.command("clients.add", { name: "Editor" });
  await main.goto("about:blank");
  await main.goto(gatehouse.address);
  await expect(main.getByRole("article", { name: "Notes", exact: true })).toBeVisible();
  await expect(main.getByRole("heading", { name: "Welcome to Gatehouse" })).toBeHidden();
});
