import { useCallback, useEffect, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import type { ServersValidate, UserError, ValidationReport } from "../generated/types";
import { toUserError } from "../platform";

/** How long the settings have to stay the same before the core is asked, in milliseconds. */
const PAUSE = 150;

export type ServerValidation = {
  /** What the core said last; null before it said anything. */
  report: ValidationReport | null;
  /** Whether that is about the present settings. */
  isCurrent: boolean;
  /** Why the core could not be asked about the present settings; null while it is not known or could. */
  error: UserError | null;
  /** Asks about the present settings at once. */
  validate: () => Promise<ValidationReport>;
};

/** Asks the core what is wrong with settings whenever they change. */
export function useServerValidation(settings: ServersValidate): ServerValidation {
  const { platform } = useCore();
  const [said, setSaid] = useState<{ key: string; report: ValidationReport } | null>(null);
  const [failure, setFailure] = useState<{ key: string; error: UserError } | null>(null);
  const key = JSON.stringify(settings);
  const latest = useRef(key);
  useEffect(() => {
    latest.current = key;
  }, [key]);
  const validate = useCallback(async () => {
    // An answer about settings that are there no more changes nothing.
    const isLatest = () => latest.current === key;
    try {
      const report = await platform.command("servers.validate", JSON.parse(key) as ServersValidate);
      if (isLatest()) {
        setSaid({ key, report });
        setFailure(null);
      }
      return report;
    } catch (thrown) {
      if (isLatest()) setFailure({ key, error: toUserError(thrown) });
      throw thrown;
    }
  }, [platform, key]);
  useEffect(() => {
    const timer = setTimeout(() => {
      // The failure is kept above.
      validate().catch(() => undefined);
    }, PAUSE);
    return () => {
      clearTimeout(timer);
    };
  }, [validate]);
  const error = failure?.key === key ? failure.error : null;
  return { report: said?.report ?? null, isCurrent: said?.key === key, error, validate };
}
