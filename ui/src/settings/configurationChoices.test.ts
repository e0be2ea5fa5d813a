import { describe, expect, it } from "vitest";

import type { ConfigurationItem } from "../generated/types";
import {
  askedSecrets,
  initialConfigurationDecisions,
  isNameless,
  pickedItems,
  secretKey,
  toConfigurationChoices,
  withItemChoice,
  withItemTick,
} from "./configurationChoices";

function item(index: number, part: Partial<ConfigurationItem> = {}): ConfigurationItem {
  return {
    index,
    kind: "server",
    name: `server ${String(index)}`,
    summary: null,
    details: [],
    widens: false,
    inputs: [],
    secrets: [],
    conflict: null,
    problems: [],
    ...part,
  };
}

const conflict = (isSame: boolean, freeName: string | null) => ({ isSame, freeName, keptSecrets: ["env/KEPT"] });

describe("choices of an imported configuration", () => {
  const fresh = item(0, { secrets: ["env/KEY", "env/LATER"] });
  const taken = item(1, { conflict: conflict(false, "server 1 2"), secrets: ["env/KEPT"] });
  const same = item(2, { conflict: conflict(true, "server 2 2") });
  const broken = item(3, { problems: [{ key: "x", params: {} }] });
  const allow = item(4, { kind: "permission", widens: true });
  const block = item(5, { kind: "permission" });
  const settings = item(6, { kind: "settings", conflict: conflict(false, null) });
  const all = [fresh, taken, same, broken, allow, block, settings];

  it("begin with what is new and widens nothing", () => {
    expect(pickedItems(initialConfigurationDecisions(all), all)).toEqual([fresh, block]);
  });

  it("keep both where a name is taken, and replace what there is only one of", () => {
    const ticked = withItemTick(withItemTick(initialConfigurationDecisions(all), taken, true), settings, true);
    expect(toConfigurationChoices(ticked, [taken, settings])).toEqual([
      { index: 1, action: { rename: "server 1 2" }, secrets: [] },
      { index: 6, action: "overwrite", secrets: [] },
    ]);
    expect(pickedItems(withItemTick(ticked, taken, false), [taken])).toEqual([]);
    expect(isNameless(withItemChoice(ticked, taken, { newName: " " }), [taken])).toBe(true);
  });

  it("let an allow be ticked", () => {
    const ticked = withItemTick(initialConfigurationDecisions(all), allow, true);
    expect(toConfigurationChoices(ticked, [allow])).toEqual([{ index: 4, action: "add", secrets: [] }]);
  });

  it("send the secrets that were entered, and ask for none that is kept", () => {
    const decisions = {
      ...initialConfigurationDecisions(all),
      secrets: new Map([[secretKey(fresh, "env/KEY"), "1"]]),
    };
    expect(toConfigurationChoices(decisions, [fresh])[0]?.secrets).toEqual([{ field: "env/KEY", value: "1" }]);
    expect(askedSecrets(decisions, taken)).toEqual([]);
    expect(askedSecrets(withItemTick(decisions, taken, true), taken)).toEqual(["env/KEPT"]);
    expect(askedSecrets(withItemChoice(decisions, taken, { plan: "overwrite" }), taken)).toEqual([]);
  });
});
