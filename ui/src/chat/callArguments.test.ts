import { expect, it } from "vitest";

import { shownArguments } from "./callArguments";

const pairs = (text: string) => shownArguments(text)?.map(({ name, text: value }) => [name, value]);

it.each<[string, [string, string][] | undefined]>([
  ["", []],
  ["{}", []],
  ['{"path":"/a"}', [["path", '"/a"']]],
  [
    '{ "a" : 1 , "b" : [1, {"c": "}"}], "d": {"e": ","} }',
    [
      ["a", "1"],
      ["b", '[1, {"c": "}"}]'],
      ["d", '{"e": ","}'],
    ],
  ],
  // Nothing is rounded or written anew.
  [
    '{"id":12345678901234567890,"x":1.0}',
    [
      ["id", "12345678901234567890"],
      ["x", "1.0"],
    ],
  ],
  ['{"a\\"b":"c\\\\"}', [['a"b', '"c\\\\"']]],
  // What cannot be seen is marked.
  ['{"a":"x\u202ey"}', [["a", '"x⟦U+202E⟧y"']]],
  ['{"path":', undefined],
  ["[1]", undefined],
  ["null", undefined],
])("%j has the members %j", (text, expected) => {
  expect(pairs(text)).toEqual(expected);
});
