// Names of variables and headers that suggest a secret. The same rule is in `crates/common/src/secret_names.rs`;
// `secret-names.json` has names that both are tested with.

const anywhere = /auth|token|secret|password|passwd|passphrase|apikey|accesskey|privatekey|signingkey/;
const atEnd = /(key|pass|pat|cookie|credentials?)$/;
const alone = new Set(["bearer", "cookies", "jwt", "otp", "passcode", "pwd", "totp"]);
/** The working folder of a shell, programs that ask for a password, and what is left out of something. */
const harmless = /^pwd$|(askpass|bypass)$/;

/** Whether the name of a variable or a header suggests that its value is a secret. */
export function isSecretSetting(name: string): boolean {
  const joined = name.toLowerCase().replaceAll(/[-_~]/g, "");
  if (harmless.test(joined)) return false;
  const words = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  return anywhere.test(joined) || atEnd.test(joined) || words.some((word) => alone.has(word.toLowerCase()));
}
