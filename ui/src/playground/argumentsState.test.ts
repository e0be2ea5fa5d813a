import { describe, expect, it } from "vitest";

import { formLock, fromEditor, fromForm, startWith, withText } from "./argumentsState";

const schema = { type: "object", properties: { a: { type: "string" }, o: { type: "object", properties: {} } } };

describe("what a form can hold", () => {
  it.each([
    ["{}", null],
    ['{"id":"12345678901234567890"}', null],
    ['{"note":"a \\" 1234567890123456 b"}', null],
    ['{"n":1234567890123456}', "numbers"],
    ['{"n":1e400}', "numbers"],
    ['{"n":true}', null],
    ["[1]", "not_object"],
    ["null", "not_object"],
    ['{"a":}', "broken"],
    ["", "broken"],
  ])("%j: %j", (text, lock) => {
    expect(formLock(text)).toBe(lock);
  });
});

describe("form and JSON", () => {
  it("show what was entered in the other", () => {
    const start = startWith({ a: "x" });
    const formed = fromForm(start, schema, { a: "y" }, true);
    expect(formed).toEqual({ text: '{\n  "a": "y"\n}', value: { a: "y" }, round: 1, source: "form" });
    const typed = fromEditor(formed, '{"a":"z"}');
    expect(typed).toEqual({ text: '{"a":"z"}', value: { a: "z" }, round: 1, source: "json" });
  });

  it("keep a text as it was typed while the form has the same", () => {
    const typed = fromEditor(startWith({}), '{ "a":"z" }');
    expect(fromForm(typed, schema, { a: "z" }, true)).toBe(typed);
    expect(fromForm(typed, schema, { a: "z", o: {} }, true)).toBe(typed);
  });

  it("keep the last value while the text is no JSON, and the text while the form cannot hold it", () => {
    const broken = fromEditor(startWith({ a: "x" }), '{"a":');
    expect(broken).toMatchObject({ text: '{"a":', value: { a: "x" } });
    expect(fromForm(broken, schema, { a: "lost" }, true)).toBe(broken);
    const large = fromEditor(startWith({}), '{"n":12345678901234567890}');
    expect(fromForm(large, schema, { n: 1 }, true)).toBe(large);
    expect(fromEditor(broken, '{"a":"y"}').value).toEqual({ a: "y" });
  });

  it("take defaults of the form before anything was typed, and not after that", () => {
    expect(fromForm(startWith({}), schema, { a: "default" }, false).value).toEqual({ a: "default" });
    const typed = fromEditor(startWith({ a: "default" }), "{}");
    expect(fromForm(typed, schema, { a: "default" }, false)).toBe(typed);
    expect(fromForm(typed, schema, { a: "default" }, true).value).toEqual({ a: "default" });
  });

  it("have another text in the editor when the whole is replaced", () => {
    expect(withText(startWith({}), '{"a":"x"}')).toMatchObject({ text: '{"a":"x"}', value: { a: "x" }, round: 1 });
  });
});
