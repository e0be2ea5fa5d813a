import { describe, expect, it } from "vitest";

import type { SignInSettings } from "../generated/types";
import { emptyServerForm, faultsOf, fromConfig, toDraft, toValidation, type ServerForm } from "./serverForm";
import { emptySignIn, signInForm, signInSecrets, signInSettings, defaultSignIn, type SignInForm } from "./signInForm";

const secret = (value: string) => ({ value, kept: null });

describe("the sign-in form", () => {
  it("uses discovery by default", () => {
    expect(signInSettings(emptySignIn)).toEqual(defaultSignIn);
    expect(signInForm(defaultSignIn)).toEqual(emptySignIn);
    expect(signInSettings({ ...emptySignIn, scopes: " ", id: " ", redirect: " ", token: " " })).toEqual(defaultSignIn);
  });

  it.each<SignInSettings>([
    { ...defaultSignIn, off: true },
    {
      ...defaultSignIn,
      client: { id: "c", secret: null, method: "none" },
      scopes: ["a", "b"],
      redirect: "http://localhost:1",
    },
    {
      ...defaultSignIn,
      client: { id: "c", secret: "${secret:mine}", method: null },
      endpoints: { authorize: "https://a/x", token: "https://a/y", revoke: "https://a/z" },
      with: { with: "client_secret" },
    },
    {
      ...defaultSignIn,
      client: { id: "c", secret: null, method: null },
      with: { with: "client_key", key: "${secret:key}", algorithm: "PS256" },
    },
    {
      ...defaultSignIn,
      with: { with: "enterprise", issuer: "https://i", client: "d", secret: "${secret:companySecret}" },
    },
  ])("round-trips with saved secrets: %j", (settings) => {
    const form = signInForm(settings);
    expect(signInSettings(form)).toEqual(settings);
    expect(signInSecrets(form)).toEqual([]);
  });

  it("keeps secrets out of the settings", () => {
    const form: SignInForm = {
      ...emptySignIn,
      id: "c",
      secret: secret("s3"),
      with: "enterprise",
      issuer: "https://i",
      company: "d",
      companySecret: secret("s4"),
      key: secret("s5"),
    };
    const settings = signInSettings(form);
    expect(settings.client).toEqual({ id: "c", secret: "${secret:secret}", method: null });
    expect(settings.with).toEqual({
      with: "enterprise",
      issuer: "https://i",
      client: "d",
      secret: "${secret:companySecret}",
    });
    expect(signInSecrets(form)).toEqual([
      { field: "signIn/secret", value: "s3" },
      { field: "signIn/companySecret", value: "s4" },
    ]);
    const keyed: SignInForm = { ...form, with: "client_key" };
    expect(signInSettings(keyed).with).toEqual({ with: "client_key", key: "${secret:key}", algorithm: "RS256" });
    expect(signInSecrets(keyed).map(({ field }) => field)).toEqual(["signIn/secret", "signIn/key"]);
  });

  it("replaces and removes saved secrets", () => {
    const form = signInForm({ ...defaultSignIn, client: { id: "c", secret: "${secret:mine}", method: null } });
    const changed = { ...form, secret: { ...form.secret, value: "new" } };
    expect(signInSettings(changed).client?.secret).toBe("${secret:secret}");
    expect(signInSecrets(changed)).toEqual([{ field: "signIn/secret", value: "new" }]);
    expect(signInSettings({ ...form, secret: secret("") }).client).toEqual({ id: "c", secret: null, method: null });
  });
});

describe("the server form with a sign-in", () => {
  const form: ServerForm = {
    ...emptyServerForm,
    kind: "http",
    name: "far",
    url: "https://x.example/mcp",
    signIn: { ...emptySignIn, id: "c", secret: secret("s3") },
  };

  it("keeps the secret out of the draft and keeps a saved one", () => {
    const { draft, secrets } = toDraft(form);
    expect(secrets).toEqual([{ field: "signIn/secret", value: "s3" }]);
    expect(JSON.stringify(draft)).not.toContain("s3");
    const config = { ...draft, id: "srv-1", generation: 1, origin: "user" } as const;
    expect(toDraft(fromConfig(config), config)).toEqual({ draft, secrets: [] });
  });

  it("asks for the secret again when the destination changes", () => {
    const config = { ...toDraft(form).draft, id: "srv-1", generation: 1, origin: "user" } as const;
    const moved = { ...fromConfig(config), url: "https://y.example/mcp" };
    expect(toValidation(moved, config)).toMatchObject({
      server: "srv-1",
      settings: { draft: { transport: { url: moved.url, signIn: { client: { secret: "${secret:secret}" } } } } },
      secrets: [],
    });
    const message = { key: "problem.secretMoved", params: {} };
    expect(faultsOf([{ pointer: "/signIn/client/secret", message, span: null }])).toEqual({ clientSecret: message });
    expect(toValidation({ ...moved, signIn: form.signIn }, config).secrets).toEqual(["signIn/secret"]);
  });

  it("has no sign-in for local servers", () => {
    const program: ServerForm = { ...form, kind: "stdio", command: "x" };
    expect(toDraft(program).secrets).toEqual([]);
  });
});
