import { describe, expect, it } from "vitest";

import type { SignInSettings } from "../generated/types";
import { emptyServerForm, validateForm, fromConfig, toDraft, type ServerForm } from "./serverForm";
import {
  emptySignIn,
  keptSecrets,
  validateSignIn,
  signInForm,
  signInSecrets,
  signInSettings,
  defaultSignIn,
  type SignInForm,
} from "./signInForm";

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
    expect(validateSignIn(form)).toEqual({});
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
    expect(keptSecrets(form)).toEqual(["clientSecret"]);
    const changed = { ...form, secret: { ...form.secret, value: "new" } };
    expect(signInSettings(changed).client?.secret).toBe("${secret:secret}");
    expect(signInSecrets(changed)).toEqual([{ field: "signIn/secret", value: "new" }]);
    expect(keptSecrets(changed)).toEqual([]);
    expect(signInSettings({ ...form, secret: secret("") }).client).toEqual({ id: "c", secret: null, method: null });
  });

  it.each<[Partial<SignInForm>, Record<string, string>]>([
    [{ redirect: "http://127.0.0.1:8976/callback" }, {}],
    [{ redirect: "http://localhost:1" }, {}],
    [{ redirect: "http://[::1]:80/" }, {}],
    [{ redirect: "https://127.0.0.1:80/" }, { redirect: "servers.signIn.badRedirect" }],
    [{ redirect: "http://127.0.0.1/cb" }, { redirect: "servers.signIn.badRedirect" }],
    [{ redirect: "http://127.0.0.1:0/" }, { redirect: "servers.signIn.badRedirect" }],
    [{ redirect: "http://127.0.0.1:65536/" }, { redirect: "servers.signIn.badRedirect" }],
    [{ redirect: "http://a.b:80/" }, { redirect: "servers.signIn.badRedirect" }],
    [{ redirect: "http://127.0.0.1:80/?a=b" }, { redirect: "servers.signIn.badRedirect" }],
    [{ redirect: "http://127.0.0.1:80@evil.example/" }, { redirect: "servers.signIn.badRedirect" }],
    [{ id: "c", authorize: "https://a.example/x", token: "http://localhost:9/y" }, {}],
    [
      { id: "c", authorize: "http://a.example/x", token: "https://a.example/y" },
      { authorize: "servers.signIn.badAddress" },
    ],
    [
      { id: "c", authorize: "https://a.example/x", token: "http://localhost.evil.example/" },
      { token: "servers.signIn.badAddress" },
    ],
    [
      { id: "c", revoke: "https://" },
      {
        authorize: "servers.signIn.badAddress",
        token: "servers.signIn.badAddress",
        revoke: "servers.signIn.badAddress",
      },
    ],
    [{ authorize: "https://a/x", token: "https://a/y" }, { clientId: "servers.signIn.needIdToo" }],
    [{ secret: secret("s") }, { clientId: "servers.signIn.needId" }],
    [{ with: "client_secret" }, { clientId: "servers.signIn.needOwnId", clientSecret: "servers.signIn.needOwnSecret" }],
    [{ with: "client_secret", id: "c" }, { clientSecret: "servers.signIn.needOwnSecret" }],
    [{ with: "client_secret", id: "c", secret: secret("s") }, {}],
    [{ with: "client_key", id: "c", key: secret("k") }, {}],
    [{ with: "client_key", key: secret("k") }, { clientId: "servers.signIn.needOwnId" }],
    [{ with: "client_key", id: "c" }, { key: "servers.signIn.needKey" }],
    [{ with: "enterprise", issuer: "https://i.example", company: "d" }, {}],
    [{ with: "enterprise" }, { issuer: "servers.signIn.badAddress", company: "servers.signIn.needId" }],
  ])("rejects %j with %j", (change, found) => {
    expect(validateSignIn({ ...emptySignIn, ...change })).toEqual(found);
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
    const again = fromConfig(config);
    expect(validateForm(again, [], config)).toEqual({});
    const moved = { ...again, url: "https://y.example/mcp" };
    expect(validateForm(moved, [], config)).toEqual({ clientSecret: "servers.form.secretMoved" });
    expect(validateForm({ ...moved, signIn: form.signIn }, [], config)).toEqual({});
  });

  it("has no sign-in for local servers", () => {
    const program: ServerForm = {
      ...form,
      kind: "stdio",
      command: "x",
      signIn: { ...form.signIn, redirect: "nonsense" },
    };
    expect(validateForm(program, [])).toEqual({});
    expect(toDraft(program).secrets).toEqual([]);
  });
});
