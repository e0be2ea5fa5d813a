/** The approval prompt, and the page of approvals. */
export const ask = {
  "ask.title": "Approvals",
} as const;
