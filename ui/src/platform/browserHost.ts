// The same interface in a browser, for tests: the commands of the shell as requests to the page's own
// origin. It is in no build that is shipped.

import { createMainPlatform, createPromptPlatform } from "./shellCommands";
import type { Unsubscribe } from "./platform";
import { toUserError } from "./userError";

async function invoke<Reply>(command: string, args: Record<string, unknown> = {}): Promise<Reply> {
  const response = await fetch(`/host/${command}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(args),
  });
  const body: unknown = await response.json();
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- user errors are data, with no stack to show
  if (!response.ok) throw toUserError(body);
  return body as Reply;
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
