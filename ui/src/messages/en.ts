import { activity } from "./en/activity";
import { ask } from "./en/ask";
import { clients } from "./en/clients";
import { frame } from "./en/frame";
import { servers } from "./en/servers";
import { settings } from "./en/settings";

/** English. The keys of this catalogue are those of every other one. */
export const en = { ...frame, ...servers, ...ask, ...activity, ...clients, ...settings } as const;
