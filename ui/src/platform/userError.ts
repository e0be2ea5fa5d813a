import type { UserError } from "../generated/types";

/**
 * Whatever was thrown, as a problem. The core answers with one; the framework itself (rights,
 * arguments) answers with a bare text.
 */
export function asProblem(thrown: unknown): UserError {
  if (isProblem(thrown)) return thrown;
  const cause = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : null;
  return { code: "internal", message: "Gatehouse did not understand its own window.", cause, hint: null };
}

function isProblem(thrown: unknown): thrown is UserError {
  return (
    typeof thrown === "object" &&
    thrown !== null &&
    "code" in thrown &&
    typeof thrown.code === "string" &&
    "message" in thrown &&
    typeof thrown.message === "string" &&
    "hint" in thrown
  );
}
