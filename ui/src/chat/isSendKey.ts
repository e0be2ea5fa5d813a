import type { KeyboardEvent } from "react";

/** Whether a key press in a message sends it: Enter, unless it begins a new line or ends the composition of a character. */
export function isSendKey(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || event.shiftKey || event.altKey) return false;
  // WebKit ends a composition before it tells of the key that ended it, which still has the code of a composition.
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else tells it
  return !event.nativeEvent.isComposing && event.nativeEvent.keyCode !== 229;
}
