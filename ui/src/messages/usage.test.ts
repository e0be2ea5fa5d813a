// @vitest-environment node
// Which messages the sources use: the compiler knows the keys that a template like `event.${kind}` can make. It already
// refuses keys that do not exist; here are those that nothing uses, and those that the prompt lacks.

import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";

import { catalogues as ofPrompt } from "../prompt/catalogues";
import { importedFiles, readTsConfig } from "../test-imports";
import { catalogues } from "./catalogues";

const ui = resolve(import.meta.dirname, "../..");
const isOwnSource = ({ fileName }: ts.SourceFile) =>
  fileName.startsWith(`${ui}/src/`) && !fileName.includes("/src/generated/") && !/\.test\.tsx?$/.test(fileName);

/** The keys of templates that the core and the desktop shell render, and tests of Rust compare with what can be made. */
const isMadeByCore = (key: string) => /^(rule|condition|list)\./.test(key);

/** The keys of the messages that Rust makes with `message!`; a test of `model` finds each of them in the catalogs. */
function keysOfRust(): Set<string> {
  const files = ["crates", "src-tauri/src"].flatMap((folder) =>
    readdirSync(`${ui}/../${folder}`, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".rs"))
      .map((file) => readFileSync(`${ui}/../${folder}/${file}`, "utf8")),
  );
  return new Set(files.flatMap((text) => [...text.matchAll(/message!\(\s*"([^"]+)"/g)].map(([, key]) => key ?? "")));
}

describe("messages", () => {
  let program: ts.Program;
  beforeAll(() => {
    const { fileNames, options } = readTsConfig(ui);
    program = ts.createProgram(fileNames, options);
  }, 60_000);

  it("are all used", () => {
    const used = new Set([...keysIn(program, program.getSourceFiles().filter(isOwnSource)), ...keysOfRust()]);
    expect(Object.keys(catalogues.en).filter((key) => !isMadeByCore(key) && !used.has(key))).toEqual([]);
  }, 60_000);

  it("of the prompt are all there", () => {
    const used = keysIn(program, reachableFrom(program, `${ui}/src/prompt/main.tsx`));
    expect([...used]).toContain("ask.allowOnce");
    expect([...used].filter((key) => Object.hasOwn(catalogues.en, key) && !Object.hasOwn(ofPrompt.en, key))).toEqual(
      [],
    );
  }, 60_000);

  it("of gatehousectl are all used", () => {
    const keys = Object.keys(JSON.parse(readFileSync(`${ui}/../locales/en/ctl.json`, "utf8")) as object);
    const used = keysOfRust();
    expect(keys.filter((key) => !used.has(key))).toEqual([]);
  });

  it("of the desktop shell are all used", () => {
    const source = ["i18n.rs", "notifications.rs", "notifications/words.rs", "request_words.rs", "tray.rs"]
      .map((file) => readFileSync(`${ui}/../crates/desktop/src/${file}`, "utf8"))
      .join("\n");
    const keys = readdirSync(`${ui}/../locales`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) =>
        Object.keys(JSON.parse(readFileSync(`${ui}/../locales/${name}/shell.json`, "utf8")) as object),
      );
    expect(keys.filter((key) => !source.includes(`"${key}"`))).toEqual([]);
  });
});

/** All texts in some files that can be keys: literals, and what the types of template literals say. */
function keysIn(program: ts.Program, files: readonly ts.SourceFile[]): Set<string> {
  const checker = program.getTypeChecker();
  const texts = new Set<string>();
  const visit = (node: ts.Node) => {
    if (ts.isStringLiteralLike(node)) texts.add(node.text);
    else if (ts.isTemplateExpression(node)) {
      const type = checker.getTypeAtLocation(node);
      for (const one of type.isUnion() ? type.types : [type]) if (one.isStringLiteral()) texts.add(one.value);
    }
    ts.forEachChild(node, visit);
  };
  files.forEach(visit);
  return texts;
}

/** A file with all of our own that it imports, also lazily. */
function reachableFrom(program: ts.Program, start: string): ts.SourceFile[] {
  const found = new Map<string, ts.SourceFile>();
  const add = (path: string) => {
    const file = program.getSourceFile(path);
    if (!file || found.has(path) || !isOwnSource(file)) return;
    found.set(path, file);
    importedFiles(path, file.text, program.getCompilerOptions()).forEach(add);
  };
  add(start);
  return [...found.values()];
}
