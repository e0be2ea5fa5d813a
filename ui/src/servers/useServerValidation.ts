import { useCallback, useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import type { ServersValidate, ValidationReport } from "../generated/types";

/** How long the settings have to stay the same before the core is asked, in milliseconds. */
const PAUSE = 150;

export type ServerValidation = {
  /** What the core said last; null before it said anything. */
  report: ValidationReport | null;
  /** Whether that is about the present settings. */
  isCurrent: boolean;
  /** Asks about the present settings at once. */
  validate: () => Promise<ValidationReport>;
};

/** Asks the core what is wrong with settings whenever they change. */
export function useServerValidation(settings: ServersValidate): ServerValidation {
  const { platform } = useCore();
  const [said, setSaid] = useState<{ key: string; report: ValidationReport } | null>(null);
  const key = JSON.stringify(settings);
  const latest = useRef(key);
  useEffect(() => {
    latest.current = key;
  }, [key]);
  const validate = useCallback(async () => {
    const report = await platform.command("servers.validate", JSON.parse(key) as ServersValidate);
    // An answer about settings that are there no more.
    if (latest.current === key) setSaid({ key, report });
    return report;
  }, [platform, key]);
  useEffect(() => {
    const timer = setTimeout(() => {
      // What cannot be validated is not saved either: saving asks again and shows the error.
      validate().catch(() => undefined);
    }, PAUSE);
    return () => {
      clearTimeout(timer);
    };
  }, [validate]);
  return { report: said?.report ?? null, isCurrent: said?.key === key, validate };
}
