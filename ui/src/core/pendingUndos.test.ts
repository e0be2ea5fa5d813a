import { expect, test } from "vitest";

import { offerUndo, undoLast } from "./pendingUndos";

test("undoes what was offered last, once, and nothing that was withdrawn", () => {
  const undone: string[] = [];
  const offer = (name: string) => offerUndo(() => undone.push(name));
  expect(undoLast()).toBe(false);
  offer("first");
  const withdraw = offer("second");
  offer("third");
  withdraw();
  expect([undoLast(), undoLast(), undoLast()]).toEqual([true, true, false]);
  expect(undone).toEqual(["third", "first"]);
  withdraw();
});
