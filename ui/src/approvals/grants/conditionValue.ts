// The value of a condition as text, for the editor and for descriptions. Pure.

import type { ConditionTest } from "../../generated/types";

type Format = {
  /** Formats a value that the condition holds as JSON text. */
  json: (value: string) => string;
  /** Separates several values. */
  separator: string;
};

/** The value that a condition compares an argument with. */
export function conditionValue(test: ConditionTest, { json, separator }: Format): string {
  switch (test.test) {
    case "equals":
      return json(test.value);
    case "one_of":
      return test.values.map(json).join(separator);
    case "starts_with":
      return test.text;
    case "inside":
      return test.folder;
    case "host_is":
      return test.port === null ? test.host : `${test.host}:${String(test.port)}`;
    case "glob":
      return test.pattern;
  }
}
