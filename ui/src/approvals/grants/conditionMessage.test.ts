import { describe, expect, it } from "vitest";

import type { ConditionTest, Message } from "../../generated/types";
import { render } from "../../messages";
import { catalogues } from "../../messages/catalogues";
import { conditionMessage, withCondition } from "./conditionMessage";

const words = { language: "en", templates: catalogues.en, time: String };

describe("a condition message", () => {
  it.each<[string, ConditionTest, string]>([
    ["/n", { test: "equals", value: "1.50" }, "n is 1.50"],
    ["/options/branch", { test: "one_of", values: ['"main"', '"dev"'] }, 'options/branch is one of "main", "dev"'],
    ["/a~1b~0c", { test: "starts_with", text: "x" }, "a/b~c starts with x"],
    ["/path", { test: "inside", folder: "/a" }, "path is inside /a"],
    ["/url", { test: "host_is", host: "a.example", port: null }, "the host of url is a.example"],
    ["/url", { test: "host_is", host: "a.example", port: 8443 }, "the host of url is a.example:8443"],
    ["/file", { test: "glob", pattern: "src/*.rs" }, "file matches src/*.rs"],
  ])("describes %s, %j: %s", (pointer, test, expected) => {
    expect(render(conditionMessage({ pointer, test }, []), words)).toBe(expected);
  });

  it("narrows the coverage of a sentence and nothing else", () => {
    const what: Message = { key: "rule.allReads", params: {} };
    const sentence: Message = { key: "rule.deny.always", params: { what: { message: what }, who: { text: "Zed" } } };
    const condition = conditionMessage({ pointer: "/n", test: { test: "equals", value: "3" } }, []);
    expect(render(withCondition(sentence, condition), words)).toBe("Always deny all reads when n is 3, for Zed");
    expect(render(sentence, words)).toBe("Always deny all reads, for Zed");
  });
});
