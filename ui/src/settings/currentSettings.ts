import type { Settings, SettingsSet } from "../generated/types";

/** The command that leaves everything as it is; a section puts what it sets in the place of some of it. */
export function unchanged({ auditDays, activityDays, activityCalls }: Settings): SettingsSet {
  return { auditDays, activityDays, activityCalls, packages: null, clientDocument: null, calls: null, toolNames: null };
}
