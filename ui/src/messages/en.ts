import { activity } from "./en/activity";
import { ask } from "./en/ask";
import { audit } from "./en/audit";
import { clients } from "./en/clients";
import { frame } from "./en/frame";
import { offer } from "./en/offer";
import { permissions } from "./en/permissions";
import { rules } from "./en/rules";
import { servers } from "./en/servers";
import { settings } from "./en/settings";
import { vault } from "./en/vault";

/** English. The keys of this catalogue are those of every other one. */
export const en = { ...frame, ...servers, ...offer, ...ask, ...activity, ...clients, ...permissions, ...rules, ...settings, ...audit, ...vault } as const;
