import type { Settings, SettingsSet } from "../generated/types";

/** The arguments of `settings.set` that keep everything as it is; a section overrides some of them. */
export function currentSettings({ auditDays, activityDays, activityCalls }: Settings): SettingsSet {
  return {
    auditDays,
    activityDays,
    activityCalls,
    packages: null,
    clientDocument: null,
    calls: null,
    toolNames: null,
    allowedHosts: null,
    registry: null,
  };
}
