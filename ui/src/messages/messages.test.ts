import { parse, TYPE, type MessageFormatElement } from "@formatjs/icu-messageformat-parser";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

import { catalogues } from "./catalogues";
import { bestLanguage } from "./language";
import { translator } from "./index";

const locales = resolve(import.meta.dirname, "../../../locales");
const filesOf = (language: string) => readdirSync(join(locales, language)).sort();
const read = (language: string, file: string) =>
  JSON.parse(readFileSync(join(locales, language, file), "utf8")) as Record<string, string>;

/** Texts that no page shows: those of gatehousectl and of the desktop shell. */
const NOT_OF_PAGES = ["ctl.json", "shell.json"];

/** The names of the arguments of a template, also of those in branches. */
function argumentsOf(elements: readonly MessageFormatElement[]): Set<string> {
  const names = new Set<string>();
  for (const element of elements) {
    if (element.type === TYPE.literal || element.type === TYPE.pound) continue;
    names.add(element.value);
    if (element.type !== TYPE.plural && element.type !== TYPE.select) continue;
    for (const { value } of Object.values(element.options)) for (const name of argumentsOf(value)) names.add(name);
  }
  return names;
}

const argumentNames = (text: string) => [...argumentsOf(parse(text, { ignoreTag: true }))].sort();

describe("catalogs", () => {
  it("are the same files in each language", () => {
    expect(filesOf("zh-CN")).toEqual(filesOf("en"));
  });

  it.each(filesOf("en"))("%s has the same messages with the same arguments in each language", (file) => {
    const [en, zh] = [read("en", file), read("zh-CN", file)];
    expect(Object.keys(zh)).toEqual(Object.keys(en));
    for (const [key, text] of Object.entries(en)) {
      const other = zh[key] ?? "";
      expect(other.trim(), key).not.toBe("");
      expect(argumentNames(other), key).toEqual(argumentNames(text));
    }
  });

  it.each(["en", "zh-CN"] as const)("in %s have no key twice, and are all loaded", (language) => {
    const keys = filesOf(language)
      .filter((file) => !NOT_OF_PAGES.includes(file))
      .flatMap((file) => Object.keys(read(language, file)));
    expect(Object.keys(catalogues[language]).sort()).toEqual(keys.sort());
  });
});

describe("messages", () => {
  it.each([
    [["zh-Hans-CN", "en"], "zh-CN"],
    [["fr", "zh"], "zh-CN"],
    [["en-GB"], "en"],
    [["fr"], "en"],
    [[], "en"],
  ] as const)("takes the best language of %j", (wanted, best) => {
    expect(bestLanguage(wanted)).toBe(best);
  });

  it("have plural forms", () => {
    const said = (language: "en" | "zh-CN", count: number) =>
      translator({ language, messages: catalogues[language] })("servers.tools", { count });
    expect([said("en", 1), said("en", 14), said("zh-CN", 1), said("zh-CN", 14)]).toEqual([
      "1 tool",
      "14 tools",
      "1 个工具",
      "14 个工具",
    ]);
  });

  it("separate names as the language does", () => {
    const said = (language: "en" | "zh-CN") =>
      translator({ language, messages: catalogues[language] })("firstRun.serversNow", { names: ["Time", "Notes"] });
    expect([said("en"), said("zh-CN")]).toEqual(["Your servers: Time, Notes", "您的服务器：Time、Notes"]);
  });
});
