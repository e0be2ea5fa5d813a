import { useEffect, useState } from "react";

import type { PendingAsk } from "../gen/types";
import { defaultPreferences, type PromptPlatform } from "../platform";
import { Look } from "../theme/Look";

/** The prompt window. */
export function PromptWindow({ platform }: { platform: PromptPlatform }) {
  const [pending, setPending] = useState<PendingAsk[]>([]);
  useEffect(() => platform.signals(() => void platform.pending().then(setPending)), [platform]);
  return <Look preferences={defaultPreferences}>{pending.length}</Look>;
}
