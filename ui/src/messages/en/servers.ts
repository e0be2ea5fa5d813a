/** Servers: the cards, the form, a server's own page. */
export const servers = {
  "servers.title": "Servers",
} as const;
