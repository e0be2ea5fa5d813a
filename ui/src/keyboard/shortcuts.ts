// Keyboard shortcuts: the one table by which they are handled, shown and listed. It loads nothing else, since the prompt
// uses it too.

/**
 * The keys of each shortcut. `mod` is ⌘ on macOS and Ctrl elsewhere; a page is reached by its place in the sidebar, for
 * which `digit` stands. A shortcut with several entries has several ways.
 */
export const shortcuts = {
  palette: ["mod+K"],
  page: ["mod+digit"],
  undo: ["mod+Z"],
  newConversation: ["mod+N"],
  help: ["?", "mod+/"],
  allow: ["mod+Enter"],
  deny: ["mod+Backspace"],
  previous: ["ArrowLeft"],
  next: ["ArrowRight"],
  away: ["Escape"],
  // Handled by the shell, also while another application has the keyboard.
  pause: ["mod+Alt+Shift+P"],
} as const satisfies Record<string, readonly string[]>;

export type Shortcut = keyof typeof shortcuts;

/** Shortcuts that also work while a text is being edited, in which their keys do nothing. */
export const worksWhileTyping: readonly Shortcut[] = ["palette", "newConversation"];

type ShortcutGroup = { name: "main" | "prompt" | "everywhere"; shortcuts: readonly Shortcut[] };

/** The shortcuts as they are listed, by where they work. */
export const shortcutGroups: readonly ShortcutGroup[] = [
  { name: "main", shortcuts: ["palette", "page", "undo", "newConversation", "help"] },
  // The Approvals page shows many requests at once, so these keys do nothing there.
  { name: "prompt", shortcuts: ["allow", "deny", "previous", "next", "away"] },
  { name: "everywhere", shortcuts: ["pause"] },
];

const waysOf = (shortcut: Shortcut): string[][] => {
  const ways: readonly string[] = shortcuts[shortcut];
  return ways.map((keys) => keys.split("+"));
};

type Keys = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** Whether a key press is this shortcut. */
export function isShortcut(event: Keys, shortcut: Shortcut): boolean {
  return waysOf(shortcut).some((keys) => isPressed(event, keys));
}

function isPressed(event: Keys, keys: readonly string[]): boolean {
  const key = keys.at(-1) ?? "";
  const wants = (modifier: string) => keys.slice(0, -1).includes(modifier);
  // A character such as `?` needs Shift on some keyboards and not on others.
  const isShiftRight = event.shiftKey === wants("Shift") || (!wants("mod") && key.length === 1);
  return (
    wants("mod") === (event.ctrlKey || event.metaKey) &&
    wants("Alt") === event.altKey &&
    isShiftRight &&
    (key === "digit" ? /^[1-9]$/.test(event.key) : event.key.toLowerCase() === key.toLowerCase())
  );
}

/** Whether keys go to a text that is being edited, also within a shadow tree. */
export function isTyping(event: Event): boolean {
  const [target] = event.composedPath();
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** Whether this computer names its keys as macOS does. */
const isMac = /mac/i.test(navigator.userAgent);

const macNames: Readonly<Record<string, string>> = {
  mod: "⌘",
  Alt: "⌥",
  Shift: "⇧",
  Enter: "↩",
  Backspace: "⌫",
  Escape: "esc",
};
const otherNames: Readonly<Record<string, string>> = { mod: "Ctrl", Escape: "Esc" };
const commonNames: Readonly<Record<string, string>> = { ArrowLeft: "←", ArrowRight: "→", digit: "1…9" };

/** The names of a shortcut's keys on this platform, for each of its ways. */
export function keyNames(shortcut: Shortcut, mac = isMac): string[][] {
  const names = { ...commonNames, ...(mac ? macNames : otherNames) };
  return waysOf(shortcut).map((keys) => keys.map((key) => names[key] ?? key));
}
