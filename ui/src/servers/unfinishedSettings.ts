// A server's settings that were changed and not saved, as a form or as JSON, for the next window. They are dropped if the
// settings were changed otherwise since: saving would undo that without a word. Without the secrets that were typed.

import { keepPageState, pageStateOf } from "../core/pageState";
import type { ServerConfig } from "../generated/types";
import { withoutSecrets, type ServerForm } from "./serverForm";
import { entryText } from "./serverJson";

/** A form that is not saved, and the newer version that was filled into it. */
export type UnfinishedForm = { form: ServerForm; filledVersion: string | null };

/** What is not saved, by the view that it was made in. */
type Unfinished = { settings: UnfinishedForm; json: string };

/** The same with the settings that it was begun with. */
type Kept<View extends keyof Unfinished> = { begunWith: string; unfinished: Unfinished[View] };

const nameOf = (view: keyof Unfinished, { id }: ServerConfig) => `servers.${view}/${id}`;

/** What the settings are, and of which connection. */
const fingerprint = (config: ServerConfig) => `${String(config.generation)} ${entryText(config)}`;

function kept<View extends keyof Unfinished>(view: View, config: ServerConfig): Unfinished[View] | null {
  const found = pageStateOf<Kept<View> | null>(nameOf(view, config), null);
  return found?.begunWith === fingerprint(config) ? found.unfinished : null;
}

function keep<View extends keyof Unfinished>(view: View, config: ServerConfig, unfinished: Unfinished[View] | null) {
  const value: Kept<View> | undefined =
    unfinished === null ? undefined : { begunWith: fingerprint(config), unfinished };
  keepPageState(nameOf(view, config), value);
}

/** The form that was not saved; null where there is none. */
export const unfinishedForm = (config: ServerConfig) => kept("settings", config);

export function keepUnfinishedForm(config: ServerConfig, unfinished: UnfinishedForm | null): void {
  keep("settings", config, unfinished && { ...unfinished, form: withoutSecrets(unfinished.form) });
}

/** The text that was not saved; null where there is none. */
export const unfinishedJson = (config: ServerConfig) => kept("json", config);

/** Keeps a text without typed secrets, as far as `withoutTypedSecrets` knows them. */
export function keepUnfinishedJson(config: ServerConfig, text: string | null): void {
  keep("json", config, text);
}
