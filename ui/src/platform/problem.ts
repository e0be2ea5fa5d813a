import type { UserError } from "../gen/types";

/**
 * Whatever was thrown, as a problem. The core answers with one; the framework itself (rights,
 * arguments) answers with a bare text.
 */
export function asProblem(thrown: unknown): UserError {
  if (isProblem(thrown)) return thrown;
  const why = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : null;
  return { code: "internal", what: "Gatehouse did not understand its own window.", why, todo: null };
}

function isProblem(thrown: unknown): thrown is UserError {
  return (
    typeof thrown === "object" &&
    thrown !== null &&
    "code" in thrown &&
    typeof thrown.code === "string" &&
    "what" in thrown &&
    typeof thrown.what === "string"
  );
}
