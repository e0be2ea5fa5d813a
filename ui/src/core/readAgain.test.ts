import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { readAgain } from "./readAgain";

/** A query whose reads end when the test says so, and what they were asked for. */
function controlled() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  const reads: ((reply: string) => void)[] = [];
  const queryFn = () => new Promise<string>((yes) => reads.push(yes));
  const observer = new QueryObserver<string>(client, { queryKey: ["servers.list"], queryFn });
  const end = (index: number, reply: string) => {
    const yes = reads[index];
    if (!yes) throw new Error(`read ${String(index)} was not begun`);
    yes(reply);
  };
  return { client, observer, reads, end };
}

test("a change during the first read is read after it", async () => {
  const { client, observer, reads, end } = controlled();
  const stop = observer.subscribe(() => undefined);
  const done = readAgain(client);
  end(0, "before");
  await expect.poll(() => reads.length).toBe(2);
  end(1, "after");
  await done;
  expect(observer.getCurrentResult().data).toBe("after");
  expect(reads.length).toBe(2);
  stop();
});

test("a change during a read that nothing waits for any more makes its reply stale", async () => {
  const { client, observer, end } = controlled();
  observer.subscribe(() => undefined)();
  const done = readAgain(client);
  end(0, "before");
  await done;
  expect(client.getQueryState(["servers.list"])).toMatchObject({ data: "before", isInvalidated: true });
});

test("only what is stale is read again, and that once", async () => {
  const { client, observer, reads, end } = controlled();
  const stop = observer.subscribe(() => undefined);
  end(0, "before");
  await expect.poll(() => observer.getCurrentResult().data).toBe("before");
  await readAgain(client, ({ queryKey }) => queryKey[0] === "status");
  expect(reads.length).toBe(1);
  const done = readAgain(client, ({ queryKey }) => queryKey[0] === "servers.list");
  end(1, "after");
  await done;
  expect(observer.getCurrentResult().data).toBe("after");
  expect(reads.length).toBe(2);
  stop();
});
