// Which files the sources import, for tests that read the sources.

import { dirname, resolve } from "node:path";

import ts from "typescript";

/** The sources of a project, and how they are compiled. */
export function readTsConfig(folder: string): ts.ParsedCommandLine {
  const { config } = ts.readConfigFile(`${folder}/tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  return ts.parseJsonConfigFileContent(config, ts.sys, folder);
}

/** The files that a source imports, also lazily or for types alone. */
export function importedFiles(path: string, text: string, options: ts.CompilerOptions): string[] {
  return ts.preProcessFile(text, true, true).importedFiles.flatMap(({ fileName }) => {
    const source = ts.resolveModuleName(fileName, path, options, ts.sys).resolvedModule?.resolvedFileName;
    if (source !== undefined) return [source];
    // Styles are no modules of TypeScript.
    return fileName.startsWith(".") ? [resolve(dirname(path), fileName)] : [];
  });
}
