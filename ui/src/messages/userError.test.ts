import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, it } from "vitest";

import enErrors from "../../../locales/en/errors.json";
import zhErrors from "../../../locales/zh-CN/errors.json";
import type { UserError } from "../generated/types";
import { catalogues } from "./catalogues";
import { translator } from "./index";
import { countErrors, userErrorId, userErrorLine, userErrorText } from "./userError";

const en = translator({ language: "en", messages: catalogues.en });
const zh = translator({ language: "zh-CN", messages: catalogues["zh-CN"] });
const error: UserError = {
  code: "port_in_use",
  message: "127.0.0.1:4873 is taken.",
  cause: "address in use.",
  hint: null,
};

/** The codes of the core, as its types say them. */
function errorCodes(): string[] {
  const types = readFileSync(resolve(import.meta.dirname, "../generated/types.ts"), "utf8");
  const union = /^export type ErrorCode = (.*);$/m.exec(types)?.[1] ?? "";
  return union.split(" | ").map((code) => JSON.parse(code) as string);
}

describe("an error", () => {
  it("is counted where it is repeated", () => {
    const other: UserError = { ...error, message: "127.0.0.1:4874 is taken." };
    const later: UserError = { ...error, cause: "still in use." };
    expect(countErrors([error, other, later])).toEqual([
      { error: later, count: 2 },
      { error: other, count: 1 },
    ]);
    expect(countErrors([])).toEqual([]);
  });

  it.each([
    ["en", enErrors],
    ["zh-CN", zhErrors],
  ])("has a text for each code in %s", (_, errors) => {
    expect(errorCodes().length).toBeGreaterThan(10);
    expect(Object.keys(errors)).toEqual(errorCodes().map((code) => `error.${code}`));
  });

  it("is said in the core's words in English", () => {
    expect(userErrorText(en, error)).toEqual({ title: "127.0.0.1:4873 is taken.", details: ["address in use."] });
    expect(userErrorLine(en, error)).toBe("127.0.0.1:4873 is taken. address in use.");
  });

  it("is rendered in the reader's language if it is a message", () => {
    const said = { ...error, message: { key: "error.not_running", params: {} }, cause: "ECONNREFUSED." };
    expect(userErrorText(en, said)).toEqual({
      title: "Gatehouse isn't running. Start Gatehouse and try again.",
      details: ["ECONNREFUSED."],
    });
    expect(userErrorText(zh, said)).toEqual({
      title: "Gatehouse 未运行。请启动 Gatehouse 后重试。",
      details: ["ECONNREFUSED."],
    });
    expect(userErrorId(said)).not.toBe(userErrorId({ ...said, message: { key: "error.paused", params: {} } }));
  });

  it("begins with the text of its code in other languages", () => {
    expect(userErrorText(zh, { ...error, hint: "Use another." })).toEqual({
      title: "该地址正被其他程序使用。请退出该程序或换一个端口。",
      details: ["127.0.0.1:4873 is taken.", "address in use.", "Use another."],
    });
  });
});
