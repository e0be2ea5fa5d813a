// The same interface in a browser, for tests: the commands of the shell as requests to the page's own
// origin. It is in no build that is shipped.

import { createMainPlatform, createPromptPlatform } from "./shellCommands";
import type { Unsubscribe } from "./platform";
import { toUserError } from "./userError";

/** Largest body, in characters, that is certain to be within what browsers send for a page that ends. */
const MAX_KEPT_ALIVE = 16_000;

async function invoke<Reply>(command: string, args: Record<string, unknown> = {}): Promise<Reply> {
  const body = JSON.stringify(args);
  const response = await fetch(`/host/${command}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    // The page may end right after it.
    keepalive: command === "set_page_state" && body.length < MAX_KEPT_ALIVE,
  });
  const reply: unknown = await response.json();
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- user errors are data, with no stack to show
  if (!response.ok) throw toUserError(reply);
  return reply as Reply;
}

function listen(command: string, heard: (message: never) => void): Unsubscribe {
  const source = new EventSource(`/host/${command}`);
  source.addEventListener("message", (event: MessageEvent<string>) => {
    heard(JSON.parse(event.data) as never);
  });
  return () => {
    source.close();
  };
}

/** The windows in a browser. */
export const platform = createMainPlatform({ invoke, listen });
export const promptPlatform = createPromptPlatform({ invoke, listen });
