/** Clients. */
export const clients = {
  "clients.title": "Clients",
} as const;
