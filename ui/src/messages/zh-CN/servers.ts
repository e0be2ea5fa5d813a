import type { servers as en } from "../en/servers";

export const servers: Record<keyof typeof en, string> = {
  "servers.title": "服务器",
};
