// The types of CSS modules let any class name pass, so their use is checked here.

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

import { describe, expect, it } from "vitest";

const root = import.meta.dirname;
const files = readdirSync(root, { recursive: true, encoding: "utf8" });
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** What a source takes from a module: names, and whether it looks names up at run time. */
type Use = { by: string; names: readonly string[]; isDynamic: boolean };

/** The uses of every module, by its path. */
const uses = new Map<string, Use[]>();
for (const by of files.filter((file) => /\.tsx?$/.test(file))) {
  const text = read(by);
  for (const [, local = "", path = ""] of text.matchAll(/import (\w+) from "(\.[^"]+\.module\.css)";/g)) {
    const module = relative(root, join(root, dirname(by), path));
    const names = [...text.matchAll(new RegExp(`\\b${local}\\.(\\w+)`, "g"))].map(([, name = ""]) => name);
    uses.set(module, [...(uses.get(module) ?? []), { by, names, isDynamic: text.includes(`${local}[`) }]);
  }
}

function classesOf(css: string): ReadonlySet<string> {
  const own = css.replace(/\/\*[\s\S]*?\*\//g, "").replace(/:global\([^)]*\)/g, "");
  const selectors = own.replace(/\{[^{}]*\}/g, "{}");
  return new Set([...selectors.matchAll(/\.([a-zA-Z]\w*)/g)].map(([, name = ""]) => name));
}

describe.each(files.filter((file) => file.endsWith(".module.css")))("%s", (module) => {
  const classes = classesOf(read(module));
  const own = uses.get(module) ?? [];

  it("has every class that is used", () => {
    const missing = own.flatMap(({ by, names }) =>
      names.filter((name) => !classes.has(name)).map((name) => [by, name]),
    );
    expect(missing).toEqual([]);
  });

  it("has no class that is not used", () => {
    const names = new Set(own.flatMap((use) => use.names));
    const isDynamic = own.some((use) => use.isDynamic);
    expect(isDynamic ? [] : [...classes].filter((name) => !names.has(name))).toEqual([]);
    expect(own, basename(module)).not.toEqual([]);
  });
});
