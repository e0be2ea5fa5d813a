import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig(({ mode }) => ({
  plugins: [react()],
  resolve: {
    // In mode `door` the pages run in a browser, for tests; every other build knows Tauri alone.
    alias: { "#base": file(mode === "door" ? "./src/platform/door.ts" : "./src/platform/tauri.ts") },
  },
  build: {
    target: "es2022",
    outDir: mode === "door" ? "dist-door" : "dist",
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
  },
}));
