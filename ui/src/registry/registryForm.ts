// What is entered for an option of a registry's entry, and what is made of it. Pure.

import type { RegistryInput, RegistryOption } from "../generated/types";

/** An entry, in its newest version where none is named. */
export type WantedEntry = { name: string; version: string | null };

/** Values by the ids of their inputs. */
export type EnteredValues = Readonly<Record<string, string>>;

/** What the inputs begin with. */
export function initialValues(inputs: readonly RegistryInput[]): EnteredValues {
  return Object.fromEntries(inputs.map(({ id, default: value }) => [id, value ?? ""]));
}

/** The required inputs without a value. */
export function missingInputs(inputs: readonly RegistryInput[], values: EnteredValues): string[] {
  return inputs.filter(({ id, required }) => required && (values[id] ?? "") === "").map(({ id }) => id);
}

/** What the core is told about what was entered: everything but the secrets, of which it only gets the names. */
export function withoutSecrets(inputs: readonly RegistryInput[], values: EnteredValues) {
  const plain = inputs.filter(({ secret }) => !secret).map(({ id }) => [id, values[id] ?? ""] as const);
  const secrets = inputs.filter(({ id, secret }) => secret && (values[id] ?? "") !== "").map(({ id }) => id);
  return { values: Object.fromEntries(plain), secrets };
}

/** The option that is shown first: one that can be used, if there is any. */
export function firstOption(options: readonly RegistryOption[]): RegistryOption | undefined {
  return options.find(({ unusable }) => unusable === null) ?? options[0];
}
