import { expect, test } from "vitest";

import { isShortcut, isTyping, keyNames, shortcutGroups, shortcuts, type Shortcut } from "./shortcuts";

const all = Object.keys(shortcuts) as Shortcut[];

const press = (key: string, modifiers = "") => ({
  key,
  ctrlKey: modifiers.includes("c"),
  metaKey: modifiers.includes("m"),
  altKey: modifiers.includes("a"),
  shiftKey: modifiers.includes("s"),
});

test.each<[string, string, Shortcut[]]>([
  ["k", "c", ["palette"]],
  ["k", "m", ["palette"]],
  ["k", "", []],
  ["K", "cs", []],
  ["1", "c", ["page"]],
  ["9", "m", ["page"]],
  ["0", "c", []],
  ["1", "", []],
  ["z", "c", ["undo"]],
  ["Z", "cs", []],
  ["n", "m", ["newConversation"]],
  ["?", "s", ["help"]],
  ["?", "", ["help"]],
  ["/", "c", ["help"]],
  ["/", "", []],
  ["Enter", "c", ["allow"]],
  ["Enter", "", []],
  ["Enter", "ca", []],
  ["Enter", "cs", []],
  ["Backspace", "m", ["deny"]],
  ["ArrowLeft", "", ["previous"]],
  ["ArrowRight", "", ["next"]],
  ["ArrowRight", "a", []],
  ["Escape", "", ["away"]],
  ["P", "cas", ["pause"]],
])("%s with %j is %j", (key, modifiers, expected) => {
  expect(all.filter((shortcut) => isShortcut(press(key, modifiers), shortcut))).toEqual(expected);
});

test("lists every shortcut once, and no two have the same keys", () => {
  const listed = shortcutGroups.flatMap((group) => group.shortcuts);
  expect([...listed].sort()).toEqual([...all].sort());
  const keys = all.flatMap((shortcut): readonly string[] => shortcuts[shortcut]);
  expect(new Set(keys).size).toBe(keys.length);
});

test("names keys as the platform does", () => {
  expect(keyNames("allow", false)).toEqual([["Ctrl", "Enter"]]);
  expect(keyNames("allow", true)).toEqual([["⌘", "↩"]]);
  expect(keyNames("help", true)).toEqual([["?"], ["⌘", "/"]]);
  expect(keyNames("page", false)).toEqual([["Ctrl", "1…9"]]);
  expect(keyNames("pause", true)).toEqual([["⌘", "⌥", "⇧", "P"]]);
});

test("knows text that is being edited within a shadow tree", () => {
  const host = document.createElement("div");
  const field = document.createElement("input");
  host.attachShadow({ mode: "open" }).append(field);
  document.body.append(host);
  let typing: boolean | undefined;
  document.addEventListener("keydown", (event) => (typing = isTyping(event)), { once: true });
  field.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, composed: true }));
  expect(typing).toBe(true);
  document.addEventListener("keydown", (event) => (typing = isTyping(event)), { once: true });
  document.body.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, composed: true }));
  expect(typing).toBe(false);
  host.remove();
});
