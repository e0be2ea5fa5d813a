import { describe, expect, it } from "vitest";

import { pointerParts, pointerTo } from "./jsonPointer";

describe("a JSON pointer", () => {
  it.each([
    ["", []],
    ["/", [""]],
    ["/description", ["description"]],
    ["/env/PATH~1x~0y/0", ["env", "PATH/x~y", "0"]],
    ["/~01", ["~1"]],
  ])("%j has the parts %j", (pointer, parts) => {
    expect(pointerParts(pointer)).toEqual(parts);
  });

  it.each(["a", "", "a/b~c", "~1"])("to the member %j leads back to it", (name) => {
    expect(pointerParts(pointerTo(name))).toEqual([name]);
  });
});
