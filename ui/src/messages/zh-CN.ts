import { activity } from "./zh-CN/activity";
import { ask } from "./zh-CN/ask";
import { audit } from "./zh-CN/audit";
import { clients } from "./zh-CN/clients";
import { frame } from "./zh-CN/frame";
import { offer } from "./zh-CN/offer";
import { permissions } from "./zh-CN/permissions";
import { rules } from "./zh-CN/rules";
import { servers } from "./zh-CN/servers";
import { settings } from "./zh-CN/settings";
import { vault } from "./zh-CN/vault";

/** 简体中文 */
export const zhCN = { ...frame, ...servers, ...offer, ...ask, ...activity, ...clients, ...permissions, ...rules, ...settings, ...audit, ...vault };
