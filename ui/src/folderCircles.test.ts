// @vitest-environment node
// Folders do not import each other in circles, neither for types nor for styles. At every level, the folders within one
// folder are compared. What a folder and those within it import of each other does not count, nor do imports of tests.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, it } from "vitest";

import { importedFiles, readTsConfig } from "./test-imports";

type Import = { from: string; to: string };

/** What the folders within one folder import: an example for each, by the importing and then the imported folder. */
type Level = Map<string, Map<string, Import>>;

/** One shortest circle of each level that has any. */
function circles(imports: readonly Import[]): string[] {
  return [...levels(imports)].flatMap(([folder, level]) => {
    const [circle] = [...level.keys()].flatMap((start) => circleThrough(start, level)).sort(byLength);
    if (!circle) return [];
    const lines = circle.map((name, at) => {
      const example = level.get(name)?.get(circle[(at + 1) % circle.length] ?? "");
      return `  ${example?.from ?? ""} imports ${example?.to ?? ""}`;
    });
    return [[`${folder}: ${[...circle, circle[0]].join(" -> ")}`, ...lines].join("\n")];
  });
}

const byLength = (one: readonly string[], other: readonly string[]) => one.length - other.length;

/** The imports between folders, by the folder that both are in. */
function levels(imports: readonly Import[]): Map<string, Level> {
  const found = new Map<string, Level>();
  for (const { from, to } of imports) {
    const one = from.split("/").slice(0, -1);
    const other = to.split("/").slice(0, -1);
    const depth = one.findIndex((name, at) => name !== other[at]);
    const [importer, imported] = [one[depth], other[depth]];
    if (importer === undefined || imported === undefined) continue;
    const folder = one.slice(0, depth).join("/");
    const level: Level = found.get(folder) ?? new Map<string, Map<string, Import>>();
    const targets = level.get(importer) ?? new Map<string, Import>();
    found.set(folder, level.set(importer, targets.set(imported, { from, to })));
  }
  return found;
}

/** The folders of a shortest circle that begins with this one: a list of one circle, or of none. */
function circleThrough(start: string, level: Level): string[][] {
  const seen = new Set<string>();
  const paths = [[start]];
  for (const path of paths) {
    for (const target of level.get(path.at(-1) ?? "")?.keys() ?? []) {
      if (target === start) return [path];
      if (!seen.has(target)) paths.push([...path, target]);
      seen.add(target);
    }
  }
  return [];
}

describe("circles", () => {
  it("are found between folders at every level, the shortest of each", () => {
    const imports = [
      { from: "src/a/1.ts", to: "src/b/x/1.ts" },
      { from: "src/b/y/1.ts", to: "src/c/1.ts" },
      { from: "src/c/1.ts", to: "src/a/style.css" },
      { from: "src/c/2.ts", to: "src/b/2.ts" },
      { from: "src/b/x/1.ts", to: "src/b/y/1.ts" },
      { from: "src/b/y/1.ts", to: "src/b/x/1.ts" },
    ];
    expect(circles(imports)).toEqual([
      "src: b -> c -> b\n  src/b/y/1.ts imports src/c/1.ts\n  src/c/2.ts imports src/b/2.ts",
      "src/b: x -> y -> x\n  src/b/x/1.ts imports src/b/y/1.ts\n  src/b/y/1.ts imports src/b/x/1.ts",
    ]);
  });

  it("are not made by folders and those within them, or by files of one folder", () => {
    const imports = [
      { from: "src/a/1.ts", to: "src/a/x/1.ts" },
      { from: "src/a/x/1.ts", to: "src/a/1.ts" },
      { from: "src/1.ts", to: "src/a/1.ts" },
      { from: "src/a/1.ts", to: "src/1.ts" },
      { from: "src/1.ts", to: "src/2.ts" },
      { from: "src/2.ts", to: "src/1.ts" },
      { from: "src/a/1.ts", to: "src/b/1.ts" },
    ];
    expect(circles(imports)).toEqual([]);
  });

  it("are not in the sources", () => {
    const ui = resolve(import.meta.dirname, "..");
    const { fileNames, options } = readTsConfig(ui);
    const sources = fileNames.filter((file) => file.startsWith(`${ui}/src/`) && !/\.test\.tsx?$/.test(file));
    const imports = sources.flatMap((from) =>
      importedFiles(from, readFileSync(from, "utf8"), options)
        .filter((to) => to.startsWith(`${ui}/src/`))
        .map((to) => ({ from: from.slice(ui.length + 1), to: to.slice(ui.length + 1) })),
    );
    expect(imports.length).toBeGreaterThan(0);
    expect(circles(imports)).toEqual([]);
  });
});
