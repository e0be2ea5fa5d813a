import { existsSync } from "node:fs";

import { defineConfig } from "@playwright/test";

// A browser of the system: none is fetched.
const known = ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell", "/usr/bin/google-chrome"];
const executablePath = process.env["GATEHOUSE_CHROMIUM"] ?? known.find((path) => existsSync(path));
if (!executablePath) throw new Error("No Chromium here: `cargo xtask setup` installs one.");

export default defineConfig({
  testDir: ".",
  outputDir: process.env["GATEHOUSE_E2E_OUTPUT"] ?? "results",
  // Two cores: a host, a browser and a client make two busy already.
  workers: 1,
  forbidOnly: true,
  reporter: "line",
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    browserName: "chromium",
    viewport: { width: 1120, height: 720 },
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: { executablePath, args: ["--no-sandbox"] },
    trace: "retain-on-failure",
  },
});
