// How a server is signed in to, as the form holds it, and what it makes of that. Pure.

import type {
  FieldSecret,
  RegisteredClient,
  SignInEndpoints,
  SignInSettings,
  SignInMethod,
  TokenEndpointAuthMethod,
} from "../generated/types";

/** A field for a secret. */
export type SecretForm = {
  value: string;
  /** What refers to the secret that is kept already; an empty value leaves it. */
  kept: string | null;
};

export type SignInForm = {
  on: boolean;
  id: string;
  secret: SecretForm;
  /** Empty: it is found out. */
  method: TokenEndpointAuthMethod | "";
  /** In words. */
  scopes: string;
  redirect: string;
  authorize: string;
  token: string;
  revoke: string;
  with: SignInMethod["with"];
  key: SecretForm;
  algorithm: string;
  issuer: string;
  company: string;
  companySecret: SecretForm;
};

/** Everything is found out. */
export const defaultSignIn: SignInSettings = {
  off: false,
  client: null,
  scopes: [],
  redirect: null,
  endpoints: null,
  with: { with: "browser" },
};

export const noSecret: SecretForm = { value: "", kept: null };

export const emptySignIn: SignInForm = {
  on: true,
  id: "",
  secret: noSecret,
  method: "",
  scopes: "",
  redirect: "",
  authorize: "",
  token: "",
  revoke: "",
  with: "browser",
  key: noSecret,
  algorithm: "RS256",
  issuer: "",
  company: "",
  companySecret: noSecret,
};

export const tokenMethods: readonly TokenEndpointAuthMethod[] = ["client_secret_basic", "client_secret_post", "none"];
export const signInMethods: readonly SignInMethod["with"][] = ["browser", "client_secret", "client_key", "enterprise"];

/** The names that secrets are kept by. */
type SecretName = "secret" | "key" | "companySecret";

export function signInForm({ off, client, scopes, redirect, endpoints, with: how }: SignInSettings): SignInForm {
  const kept = (reference: string | null | undefined): SecretForm => ({ value: "", kept: reference ?? null });
  const common: SignInForm = {
    ...emptySignIn,
    on: !off,
    id: client?.id ?? "",
    secret: kept(client?.secret),
    method: client?.method ?? "",
    scopes: scopes.join(" "),
    redirect: redirect ?? "",
    authorize: endpoints?.authorize ?? "",
    token: endpoints?.token ?? "",
    revoke: endpoints?.revoke ?? "",
    with: how.with,
  };
  switch (how.with) {
    case "browser":
    case "client_secret":
      return common;
    case "client_key":
      return { ...common, key: kept(how.key), algorithm: how.algorithm };
    case "enterprise":
      return { ...common, issuer: how.issuer, company: how.client, companySecret: kept(how.secret) };
  }
}

const optional = (text: string) => (text.trim() === "" ? null : text.trim());

/** What refers to a secret; nothing where there is none. */
function reference(form: SignInForm, name: SecretName): string | null {
  const { value, kept } = form[name];
  return value === "" ? kept : `\${secret:${name}}`;
}

/** What the form says; nothing where it says nothing. */
export function signInSettings(form: SignInForm): SignInSettings {
  return {
    off: !form.on,
    client: clientOf(form),
    scopes: form.scopes.split(/\s+/).filter((word) => word !== ""),
    redirect: optional(form.redirect),
    endpoints: endpointsOf(form),
    with: withOf(form),
  };
}

function clientOf(form: SignInForm): RegisteredClient | null {
  const secret = reference(form, "secret");
  const method = form.method === "" ? null : form.method;
  const id = form.id.trim();
  return id === "" && secret === null && method === null ? null : { id, secret, method };
}

function endpointsOf({ authorize, token, revoke }: SignInForm): SignInEndpoints | null {
  if ([authorize, token, revoke].every((address) => address.trim() === "")) return null;
  return { authorize: authorize.trim(), token: token.trim(), revoke: optional(revoke) };
}

function withOf(form: SignInForm): SignInMethod {
  switch (form.with) {
    case "browser":
    case "client_secret":
      return { with: form.with };
    case "client_key":
      return { with: "client_key", key: reference(form, "key") ?? "", algorithm: form.algorithm };
    case "enterprise":
      return {
        with: "enterprise",
        issuer: form.issuer.trim(),
        client: form.company.trim(),
        secret: reference(form, "companySecret"),
      };
  }
}

/** The secrets that belong to the way that was chosen. */
function secretsOf(form: SignInForm): readonly SecretName[] {
  if (form.with === "client_key") return ["secret", "key"];
  return form.with === "enterprise" ? ["secret", "companySecret"] : ["secret"];
}

/** The new secrets that go with the settings. */
export function signInSecrets(form: SignInForm): FieldSecret[] {
  return secretsOf(form)
    .filter((name) => form[name].value !== "")
    .map((name) => ({ field: `signIn/${name}`, value: form[name].value }));
}

/** The form without the secrets that were typed into it. */
export function withoutSignInSecrets(form: SignInForm): SignInForm {
  const empty = (secret: SecretForm): SecretForm => ({ ...secret, value: "" });
  return {
    ...form,
    secret: empty(form.secret),
    key: empty(form.key),
    companySecret: empty(form.companySecret),
  };
}

export type SignInField =
  | "clientId"
  | "clientSecret"
  | "redirect"
  | "authorize"
  | "token"
  | "revoke"
  | "issuer"
  | "company"
  | "companySecret"
  | "key";

export const signInFields: readonly SignInField[] = [
  "clientId",
  "clientSecret",
  "redirect",
  "authorize",
  "token",
  "revoke",
  "issuer",
  "company",
  "companySecret",
  "key",
];
