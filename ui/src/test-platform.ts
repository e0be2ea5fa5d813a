// A platform for tests: it says what it was told to say and keeps what it was told to keep.

import type { StatusReport } from "./gen/types";
import type { Platform, Preferences } from "./platform";

export const someReport: StatusReport = {
  version: "0.1.0",
  endpoint: "http://127.0.0.1:4242/mcp",
  dataDir: "/home/ana/.local/share/gatehouse",
  pid: 7,
  answeredBy: "window",
  secrets: "keychain",
  paused: false,
  switchedOn: true,
  running: 2,
  servers: 3,
  tools: 14,
  clients: 1,
  waiting: 0,
  lastEvent: 5,
  problems: [],
};

export class TestPlatform implements Platform {
  kept: Preferences = { theme: "light", language: "en" };
  changed: () => void = () => undefined;

  constructor(public answer: () => Promise<StatusReport>) {}

  status = () => this.answer();
  startAgain = () => Promise.resolve();
  watch = (changed: () => void) => {
    this.changed = changed;
    return () => {
      this.changed = () => undefined;
    };
  };
  preferences = () => Promise.resolve(this.kept);
  setPreferences = (preferences: Preferences) => {
    this.kept = preferences;
    return Promise.resolve();
  };
  openLink = () => Promise.resolve();
}
