import type { UserError } from "../generated/types";

/**
 * Whatever was thrown, as a `UserError`. The core throws one; the framework itself (capabilities,
 * arguments) throws a string.
 */
export function toUserError(thrown: unknown): UserError {
  if (isUserError(thrown)) return thrown;
  const cause = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : null;
  return { code: "internal", message: "Gatehouse did not understand its own window.", cause, hint: null };
}

function isUserError(thrown: unknown): thrown is UserError {
  return (
    typeof thrown === "object" &&
    thrown !== null &&
    "code" in thrown &&
    typeof thrown.code === "string" &&
    "message" in thrown &&
    (typeof thrown.message === "string" || (typeof thrown.message === "object" && thrown.message !== null)) &&
    "hint" in thrown
  );
}
