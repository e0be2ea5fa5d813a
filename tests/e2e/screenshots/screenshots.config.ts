// Pictures of the interface, for `cargo xtask screenshots`. They are not part of the stories: a picture checks nothing.

import { defineConfig } from "@playwright/test";

import stories from "../playwright.config.ts";

export default defineConfig(stories, {
  testDir: import.meta.dirname,
  testMatch: "*.pictures.ts",
  outputDir: process.env["GATEHOUSE_E2E_OUTPUT"] ?? "../results",
  timeout: 120_000,
});
