import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const { version } = JSON.parse(readFileSync(file("./package.json"), "utf8")) as { version: string };

/** Styles of components are taken in one by one, in `mantine.css`: refuses to build where one is missing. */
function everyComponentStyled(): Plugin {
  return {
    name: "every-component-styled",
    enforce: "post",
    generateBundle(_, bundle) {
      const parts = Object.values(bundle);
      const known = readFileSync(file("./node_modules/@mantine/core/styles.layer.css"), "utf8");
      const here = parts
        .map((part) => (part.type === "asset" && part.fileName.endsWith(".css") ? String(part.source) : ""))
        .join("\n");
      const used = parts.flatMap((part) => (part.type === "chunk" ? (part.code.match(/\bm_[0-9a-f]+\b/g) ?? []) : []));
      const bare = [...new Set(used)].filter((name) => known.includes(`.${name}`) && !here.includes(`.${name}`));
      if (bare.length > 0)
        this.error(`mantine.css lacks the styles of a component with the classes ${bare.join(", ")}`);
    },
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [react(), everyComponentStyled()],
  resolve: {
    // In mode `browser` the pages run in a browser, for tests; every other build knows Tauri alone.
    alias: { "#base": file(mode === "browser" ? "./src/platform/browserHost.ts" : "./src/platform/tauri.ts") },
  },
  define: { APP_VERSION: JSON.stringify(version) },
  // Catalogues as text for `JSON.parse`, which takes half as long as parsing them as scripts.
  json: { stringify: true, namedExports: false },
  // Texts, shared with the core, the command line and the tray.
  server: { fs: { allow: [file("."), file("../locales")] } },
  build: {
    target: "es2022",
    outDir: mode === "browser" ? "dist-browser" : "dist",
    // Nothing inline: the content security policy takes scripts, styles and pictures from files alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
    rolldownOptions: { input: { main: file("./index.html"), prompt: file("./prompt.html") } },
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
    // A busy machine is slow, and a test that hangs still ends.
    testTimeout: 30_000,
  },
}));
