import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // Nothing inline: the content security policy takes scripts, styles and pictures from files alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One window loads it from inside the program; splitting it up would gain nothing.
    chunkSizeWarningLimit: 2000,
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
  },
});
