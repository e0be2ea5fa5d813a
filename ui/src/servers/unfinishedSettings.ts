// A server's settings that were changed and not saved, as a form or as JSON, for the next window. They are for the connection
// that they were begun with, which may be another one since. Without the secrets that were typed.

import { keepPageState, pageStateOf } from "../core/pageState";
import type { ServerConfig } from "../generated/types";
import { withoutSecrets, type ServerForm } from "./serverForm";

/** A form that is not saved, and the newer version that was filled into it. */
export type UnfinishedForm = { form: ServerForm; filledVersion: string | null };

const nameOf = (view: "settings" | "json", { id, generation }: ServerConfig) =>
  `servers.${view}/${id}/${String(generation)}`;

/** The form that was not saved; null where there is none. */
export const unfinishedForm = (config: ServerConfig) =>
  pageStateOf<UnfinishedForm | null>(nameOf("settings", config), null);

export function keepUnfinishedForm(config: ServerConfig, unfinished: UnfinishedForm | null): void {
  const kept = unfinished === null ? undefined : { ...unfinished, form: withoutSecrets(unfinished.form) };
  keepPageState(nameOf("settings", config), kept);
}

/** The text that was not saved; null where there is none. */
export const unfinishedJson = (config: ServerConfig) => pageStateOf<string | null>(nameOf("json", config), null);

/** Keeps a text, in which there must be no typed secrets. */
export function keepUnfinishedJson(config: ServerConfig, text: string | null): void {
  keepPageState(nameOf("json", config), text ?? undefined);
}
