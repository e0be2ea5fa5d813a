import { describe, expect, it } from "vitest";

import cases from "../../../locales/format-cases.json";
import type { Message, MessageParam } from "../generated/types";
import { catalogues } from "./catalogues";
import { format, render, type Values } from "./render";

const templates = {
  said: "[{it}]",
  other: "other {it}",
  counted: "{it, plural, one {# thing} other {# things}}",
  "list.and": " and ",
  "list.sentences": "{first} {second}",
};
const words = { language: "en", templates, time: (at: number) => `day ${String(at)}` };

describe("a template", () => {
  // crates/model/src/message_format.rs renders the same table.
  it.each(cases)("$template in $language: $text", ({ template, language, values, text }) => {
    expect(format(template, language, values as unknown as Values)).toBe(text);
  });
});

it.each([
  [999, "999 things"],
  [1000, "1,000 things"],
  [-1000, "-1,000 things"],
  [1.5, "1.5 things"],
])("counts %j as %s", (it, text) => {
  expect(format(templates.counted, "en", { it })).toBe(text);
});

describe("a text of the core", () => {
  it.each<[MessageParam, string]>([
    [{ text: "files" }, "[files]"],
    [{ number: 1200 }, "[1200]"],
    [{ time: 7 }, "[day 7]"],
    [{ message: { key: "other", params: { it: { text: "x" } } } }, "[other x]"],
    [
      {
        list: [
          { key: "other", params: { it: { text: "x" } } },
          { key: "other", params: { it: { time: 1 } } },
        ],
      },
      "[other x and other day 1]",
    ],
    [
      {
        sentences: [
          { key: "other", params: { it: { text: "x." } } },
          { key: "other", params: { it: { text: "y." } } },
        ],
      },
      "[other x. other y.]",
    ],
    // What is filled in is not a template.
    [{ text: "{it} $& {said} '{" }, "[{it} $& {said} '{]"],
  ])("has %j in its place", (it, expected) => {
    expect(render({ key: "said", params: { it } }, words)).toBe(expected);
  });

  it("shows its key where there is no template, and the name of an argument without a value", () => {
    expect(render({ key: "no.such", params: {} }, words)).toBe("no.such");
    expect(render({ key: "said", params: {} }, words)).toBe("[{it}]");
  });

  it("leaves out what is nested too deeply", () => {
    const nested = (depth: number): Message => ({
      key: "said",
      params: { it: depth === 0 ? { text: "x" } : { message: nested(depth - 1) } },
    });
    const said = (depth: number) => render(nested(depth), words);
    expect(said(15)).toBe(`${"[".repeat(16)}x${"]".repeat(16)}`);
    expect(said(16)).toBe(`${"[".repeat(16)}…${"]".repeat(16)}`);
    expect(said(1000)).toBe(said(16));
  });

  it("has the plural form of its count", () => {
    const counted = (number: number) => render({ key: "counted", params: { it: { number } } }, words);
    expect([0, 1, 2].map(counted)).toEqual(["0 things", "1 thing", "2 things"]);
  });

  it("is said in each language", () => {
    const message: Message = {
      key: "rule.allow.always",
      params: { what: { message: { key: "rule.reads", params: { server: { text: "files" } } } }, who: { text: "Zed" } },
    };
    expect(render(message, { ...words, templates: catalogues.en })).toBe("Always allow all reads of files, for Zed");
    expect(render(message, { ...words, language: "zh-CN", templates: catalogues["zh-CN"] })).toBe(
      "始终允许 Zed 使用 files 的全部读取",
    );
    const everyone: Message = { key: "rule.everyClient", params: {} };
    const sentences: Message = { key: "problem.all", params: { problems: { sentences: [everyone, everyone] } } };
    expect(render(sentences, { ...words, templates: catalogues.en })).toBe("every client every client");
    expect(render(sentences, { ...words, language: "zh-CN", templates: catalogues["zh-CN"] })).toBe(
      "所有客户端所有客户端",
    );
  });
});
