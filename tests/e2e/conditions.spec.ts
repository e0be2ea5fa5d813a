import { expect, noViolations, pictures, test } from "./base.ts";

const small = [{ width: 440, height: 640 }];

test("a condition is written in the prompt, holds for what it says, and for no more", async ({
  gatehouse,
  prompt,
  main,
}) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", { timezone: "Europe/Vienna" });
  await prompt.getByRole("button", { name: "More allow options" }).click();
  const panel = prompt.getByRole("region", { name: "More allow options" });
  await panel.getByLabel("custom condition…").check();
  await panel.getByLabel("Condition", { exact: true }).selectOption("starts with");
  await expect(panel.getByLabel("Value")).toHaveValue("Europe/");
  await panel.getByLabel("Always").check();
  await noViolations(prompt);
  await pictures(gatehouse, prompt, "prompt-condition", small);

  // A condition that does not cover this call changes nothing.
  await panel.getByLabel("Value").fill("Asia/");
  await panel
    .getByRole("button", { name: "Always allow Time: current_time when timezone starts with Asia/, for Claude Code" })
    .click();
  await expect(prompt.getByRole("alert")).toContainText("The condition doesn't cover this call");
  expect(await gatehouse.command("approvals.list", { known: [] })).toHaveLength(1);
  expect((await gatehouse.command("policy.show", {})).rules).toEqual([]);
  await pictures(gatehouse, prompt, "prompt-condition-refused", small);

  await panel.getByLabel("Value").fill("");
  await expect(panel).toContainText("Enter a value.");
  await expect(panel.getByRole("button", { name: /^Always allow/ })).toHaveCount(0);
  await panel.getByLabel("Value").fill("Europe/");
  const sentence = "Always allow Time: current_time when timezone starts with Europe/, for Claude Code";
  await panel.getByRole("button", { name: sentence }).click();
  expect((await call).isError).toBeFalsy();

  expect((await client.call("current_time", { timezone: "Europe/Paris" })).isError).toBeFalsy();
  const other = client.call("current_time", { timezone: "Asia/Tokyo" });
  await expect.poll(async () => (await gatehouse.command("approvals.list", { known: [] })).length).toBe(1);
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  expect((await other).isError).toBe(true);

  await main.getByRole("link", { name: "Permissions" }).click();
  await expect(main.getByText("when timezone starts with Europe/")).toBeVisible();
  await noViolations(main);
});

test("the fields of a condition are reached by keys alone, in every kind", async ({ gatehouse, prompt }) => {
  const client = await gatehouse.connect("Claude Code");
  const call = client.call("current_time", { timezone: "Europe/Vienna" }).catch(() => null);
  await prompt.getByRole("button", { name: "More allow options" }).click();
  await prompt.getByLabel("custom condition…").focus();
  await prompt.keyboard.press("Space");
  await prompt.keyboard.press("Tab");
  await expect(prompt.getByLabel("Argument", { exact: true })).toBeFocused();
  await prompt.keyboard.press("Tab");
  const kind = prompt.getByLabel("Condition", { exact: true });
  await expect(kind).toBeFocused();
  const deed = (when: string) =>
    prompt.getByRole("button", {
      name: `Allow Time: current_time when ${when} until Gatehouse quits, for Claude Code`,
    });
  for (const [word, when] of [
    ["is exactly", 'timezone is "Europe/Vienna"'],
    ["is one of", 'timezone is one of "Europe/Vienna"'],
    ["starts with", "timezone starts with Europe/"],
    ["matches the pattern", "timezone matches Europe/*"],
  ] as const) {
    await kind.selectOption(word);
    await expect(deed(when)).toBeVisible();
  }
  await prompt.keyboard.press("Tab");
  await expect(prompt.getByLabel("Value")).toBeFocused();
  await prompt.getByRole("button", { name: "Back" }).click();
  await prompt.getByRole("button", { name: "Deny", exact: true }).click();
  await call;
});
