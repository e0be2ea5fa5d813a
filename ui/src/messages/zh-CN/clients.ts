import type { clients as en } from "../en/clients";

export const clients: Record<keyof typeof en, string> = {
  "clients.title": "客户端",
};
