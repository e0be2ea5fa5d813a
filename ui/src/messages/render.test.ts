import { describe, expect, it } from "vitest";

import type { Message, MessageParam } from "../generated/types";
import { catalogues } from "./catalogues";
import { render } from "./render";

const templates = { said: "[{it}]", other: "other {it}", "list.and": " and " };
const words = { templates, time: (at: number) => `day ${String(at)}` };

describe("a text of the core", () => {
  it.each<[MessageParam, string]>([
    [{ text: "files" }, "[files]"],
    [{ time: 7 }, "[day 7]"],
    [{ message: { key: "other", params: { it: { text: "x" } } } }, "[other x]"],
    [{ list: [{ key: "other", params: { it: { text: "x" } } }, { key: "other", params: { it: { time: 1 } } }] }, "[other x and other day 1]"],
    // What is filled in is not a template.
    [{ text: "{it} $& {said}" }, "[{it} $& {said}]"],
  ])("has %j in its place", (it, expected) => {
    expect(render({ key: "said", params: { it } }, words)).toBe(expected);
  });

  it("shows its key where there is no template, and its places where there is nothing to stand in them", () => {
    expect(render({ key: "no.such", params: {} }, words)).toBe("no.such");
    expect(render({ key: "said", params: {} }, words)).toBe("[{it}]");
  });

  it("is said in each language", () => {
    const message: Message = { key: "rule.allow.always", params: { what: { message: { key: "rule.reads", params: { server: { text: "files" } } } }, who: { text: "Zed" } } };
    expect(render(message, { ...words, templates: catalogues.en })).toBe("Always allow all reads of files, for Zed");
    expect(render(message, { ...words, templates: catalogues["zh-CN"] })).toBe("始终允许 Zed 使用 files 的全部读取");
  });
});
