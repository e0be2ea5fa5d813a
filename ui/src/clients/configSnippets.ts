// Lines that people paste into their AI applications.

export type ConfigSnippet = { app: string | null; text: string };

/** Ready-made lines for the usual applications; `app` is null for all others. */
export function configSnippets(endpoint: string, token: string): readonly ConfigSnippet[] {
  const headers = { Authorization: `Bearer ${token}` };
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  return [
    {
      app: "Claude Code",
      text: `claude mcp add --transport http gatehouse ${endpoint} --header "Authorization: Bearer ${token}"`,
    },
    { app: "Cursor", text: json({ mcpServers: { gatehouse: { url: endpoint, headers } } }) },
    { app: "VS Code", text: json({ servers: { gatehouse: { type: "http", url: endpoint, headers } } }) },
    { app: null, text: json({ mcpServers: { gatehouse: { type: "http", url: endpoint, headers } } }) },
  ];
}

/** For applications that can only start programs: what stores the token, and the lines for their settings. */
export function bridgeSnippets(client: string): { keepToken: string; settings: string } {
  const server = { command: "gatehousectl", args: ["bridge", `--client=${client}`] };
  return {
    keepToken: `gatehousectl clients keep-token ${shellWord(client)}`,
    settings: JSON.stringify({ mcpServers: { gatehouse: server } }, null, 2),
  };
}

/** One word of a shell, in which nothing is expanded. Plain names have quotes that every shell knows. */
function shellWord(word: string): string {
  return /^[\p{L}\p{N} ._-]+$/u.test(word) ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}
