// Describes a condition that is being written in the way the core describes proposed ones, with the same keys and
// parameters (crates/policy/src/rule_messages.rs). Pure.

import { unescapePart } from "../../components/jsonPointer";
import type { Condition, Message, OfferedCondition } from "../../generated/types";
import type { MessageKey } from "../../messages";
import { conditionValue } from "./conditionValue";

/** The description of a condition; the core's own if the core proposed it. */
export function conditionMessage(condition: Condition, proposals: readonly OfferedCondition[]): Message {
  const wanted = JSON.stringify(condition);
  return proposals.find((one) => JSON.stringify(one.condition) === wanted)?.sentence ?? describeCondition(condition);
}

function describeCondition({ pointer, test }: Condition): Message {
  const key: MessageKey = `condition.${test.test}`;
  const place = unescapePart(pointer.replace(/^\//, ""));
  const value = conditionValue(test, { json: (one) => one, separator: ", " });
  // Values of JSON have quotation marks of their own.
  const isJson = test.test === "equals" || test.test === "one_of";
  return { key, params: { place: { text: quoted(place) }, value: { text: isJson ? value : quoted(value) } } };
}

/** In quotation marks where it could be read as words of the sentence. */
function quoted(name: string): string {
  return /[\s"]/.test(name) ? JSON.stringify(name) : name;
}

/** The description of a choice, narrowed by a condition. */
export function withCondition(sentence: Message, condition: Message): Message {
  const { what } = sentence.params;
  if (what === undefined) return sentence;
  const key: MessageKey = "rule.when";
  const only: Message = { key, params: { what, when: { list: [condition] } } };
  return { ...sentence, params: { ...sentence.params, what: { message: only } } };
}
