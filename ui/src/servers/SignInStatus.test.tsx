import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ServerStatus, ServerView, SignInState } from "../generated/types";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { defaultLimits } from "./serverForm";
import { ServerCard } from "./ServerCard";
import { defaultSignIn } from "./signInForm";
import { SignedIn } from "./SignedIn";
import { useSignIn } from "./useSignIn";

const needed: ServerStatus = { state: "needs_auth", issuer: null };
const running: ServerStatus = {
  state: "connected",
  since: 0,
  protocol: "2026-07-28",
  server: { name: "x", title: null, version: "1", instructions: null },
};
const out: SignInState = { is: "out", problem: null };
const waiting: SignInState = { is: "waiting", host: "auth.notes.example", until: Date.now() + 272_500 };
const signedIn: SignInState = {
  is: "in",
  account: "ann@notes.example",
  issuer: "https://auth.notes.example/x",
  scopes: [],
  expires: Date.now() + 42 * 60_000,
  renews: true,
};

const view = (status: ServerStatus, signIn: SignInState | null): ServerView => ({
  config: {
    id: "srv-1",
    generation: 0,
    name: "notes",
    transport: {
      type: "auto",
      url: "https://notes.example/mcp",
      headers: {},
      headersFrom: null,
      signIn: defaultSignIn,
    },
    protocolVersion: "auto",
    enabled: true,
    autostart: true,
    recordBodies: true,
    look: { description: null, icon: null, group: null },
    limits: defaultLimits,
    registry: null,
    origin: "user",
  },
  icon: "world",
  status,
  counts: { tools: 3, resources: 0, prompts: 0 },
  declared: { tools: true, resources: false, subscribe: false, prompts: false, completions: false, logging: false },
  trustedLabels: false,
  autoApprove: [],
  signIn,
  logTail: [],
  errorsLastHour: 0,
});

type Replies = Record<string, (args: unknown) => unknown>;

/** A card over a core that gives these answers, and what it was asked for, other than for the card's icon. */
function show(first: ServerView, replies: Replies = {}) {
  const asked: [string, unknown][] = [];
  const platform = {
    command: async (name: string, args: unknown) => {
      if (name === "servers.icon") return Promise.resolve({ image: null });
      asked.push([name, args]);
      return Promise.resolve(replies[name]?.(args) ?? null);
    },
    events: () => () => undefined,
  } as unknown as Platform;
  const page = (of: ServerView) => (
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>
        <ServerCard view={of} taken={[]} />
        <Line view={of} />
      </CoreProvider>
    </ThemeProvider>
  );
  const { rerender } = render(page(first));
  return {
    asked,
    becomes: (next: ServerView) => {
      rerender(page(next));
    },
  };
}

function Line({ view: of }: { view: ServerView }) {
  return <SignedIn view={of} acts={useSignIn(of)} />;
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });
const refusal = (message: string) => () => {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- as the core refuses
  throw { code: "refused", message, cause: "Because.", hint: "Do it." };
};

describe("signing in", () => {
  it("starts with a click, names the host, can be cancelled, and keeps the keyboard focus", async () => {
    const { asked, becomes } = show(view(needed, out), {
      "servers.signIn": () => ({ address: "https://auth.notes.example/authorize" }),
    });
    button("Sign in").focus();
    fireEvent.click(button("Sign in"));
    await waitFor(() => {
      expect(asked).toEqual([["servers.signIn", { server: "srv-1", open: true }]]);
    });
    becomes(view(needed, waiting));
    expect(screen.getByText("Signing in… Continue in your browser")).toBeDefined();
    expect(screen.getByText("auth.notes.example").tagName).toBe("STRONG");
    expect(screen.getByText(/4:3\d left/)).toBeDefined();
    expect(screen.queryByRole("button", { name: "Sign in" })).toBeNull();
    expect(document.activeElement).toBe(button("Cancel"));
    fireEvent.click(button("Cancel"));
    await waitFor(() => {
      expect(asked[1]).toEqual(["servers.cancelSignIn", { server: "srv-1" }]);
    });
    becomes(view(needed, out));
    expect(document.activeElement).toBe(button("Sign in"));
  });

  it("accepts a pasted callback URL and reports what is wrong with it", async () => {
    const { asked } = show(view(needed, waiting), {
      "servers.pasteAddress": (args) =>
        JSON.stringify(args).includes("code=") ? null : refusal("This is another address.")(),
    });
    fireEvent.click(button("Paste the address"));
    const field = await screen.findByRole("textbox");
    const send = (text: string) => {
      fireEvent.change(field, { target: { value: text } });
      fireEvent.submit(field);
    };
    send(" http://127.0.0.1:9/nothing ");
    expect((await screen.findByRole("alert")).textContent).toContain("This is another address.");
    send("http://127.0.0.1:9/x?code=y");
    await waitFor(() => {
      expect(screen.queryByRole("textbox")).toBeNull();
    });
    expect(asked.map(([, args]) => (args as { address: string }).address)).toEqual([
      "http://127.0.0.1:9/nothing",
      "http://127.0.0.1:9/x?code=y",
    ]);
  });

  it("shows why the last attempt failed and offers a retry", () => {
    const problem = {
      code: "refused",
      message: "You said no there.",
      cause: "access_denied",
      hint: "Sign in once more.",
    } as const;
    show(view(needed, { is: "out", problem }));
    expect(screen.getByRole("alert").textContent).toBe("You said no there.access_denied Sign in once more.");
    expect(button("Sign in")).toBeDefined();
  });

  it("shows why it could not start until the next attempt starts", async () => {
    const { becomes } = show(view(needed, out), { "servers.signIn": refusal("It cannot be reached.") });
    fireEvent.click(button("Sign in"));
    expect((await screen.findByRole("alert")).textContent).toContain("It cannot be reached.");
    becomes(view(needed, waiting));
    expect(screen.queryByRole("alert")).toBeNull();
    becomes(view(needed, out));
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("links to the settings if a client id is needed or nobody can sign in", () => {
    const { becomes } = show(view({ state: "needs_client_registration", reason: "It takes no registrations." }, out));
    expect(screen.getByText("It takes no registrations.")).toBeDefined();
    fireEvent.click(button("Enter client ID"));
    expect(window.location.hash).toBe("#/servers/srv-1/settings/sign-in");
    becomes(view(needed, null));
    expect(button("Open settings")).toBeDefined();
  });
});

describe("the signed-in account", () => {
  it("is shown with its expiry and can sign out", async () => {
    const { asked, becomes } = show(view(running, signedIn), { "servers.signOut": () => ({ revoked: true }) });
    expect(screen.getByText(/Signed in as/).textContent.trim()).toBe(
      "Signed in as ann@notes.example at auth.notes.example · expires in 42 minutes (renews automatically)",
    );
    button("Sign out").focus();
    fireEvent.click(button("Sign out"));
    await waitFor(() => {
      expect(asked).toEqual([["servers.signOut", { server: "srv-1", run: expect.any(String) as string }]]);
    });
    becomes(view(needed, out));
    expect(screen.queryByRole("button", { name: "Sign out" })).toBeNull();
  });

  it.each<[Partial<SignInState>, string]>([
    [{ account: null, expires: null }, "Signed in at auth.notes.example"],
    [{ renews: false }, "Signed in as ann@notes.example at auth.notes.example · expires in 42 minutes"],
    [{ expires: 1, renews: true }, "Signed in as ann@notes.example at auth.notes.example · renews with the next call"],
  ])("with %j reads %s", (differs, words) => {
    show(view(running, { ...signedIn, ...differs } as SignInState));
    expect(screen.getByText(/Signed in/).textContent.trim()).toBe(words);
  });
});
